"""genus mail serve under load.

`python -m benchmarks.mail_serve [--messages 50000] [--spamc 5000] [--workers N] [--data FOLDER]`
learns every second message of `spamassassin.tar.gz` in FOLDER, else GENUS_DATA, else ../shared/data
(made-up mail where that is missing), starts the server on a Unix socket, and lets 8 clients at
once send the others: first a client that speaks the protocol itself, then the same while one more
client learns, then real `spamc -c` processes. Prints messages a second, milliseconds from
connecting to the end of the answer (for spamc: from starting it to its end), the time that the
server's workers computed for a message, which others on the machine change less, and the memory of
the workers after the first tenth of each and at its end.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import socket
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter, sleep
from typing import Any

import numpy as np

DATA = Path(os.environ.get("GENUS_DATA", Path(__file__).parents[2] / "shared" / "data"))
CLIENTS = 8

Client = Callable[[Path, Path, bytes], None]


def main(arguments: Sequence[str]) -> None:
    options = parse(arguments)
    mail = list(corpus(options.data))
    with TemporaryDirectory(prefix="genus-") as name:
        folder = Path(name)
        learn(folder, mail[::2])
        paths = []
        for number, (raw, _) in enumerate(mail[1::2]):
            paths.append(folder / f"{number}.eml")
            paths[-1].write_bytes(raw)
        with server(folder, options.workers) as pid:
            print(f"{'client':26}{'messages':>9}{'per s':>8}{'p50 ms':>8}{'p99 ms':>8}", end="")
            print(f"{'max ms':>8}{'CPU ms':>8}{'MB at 1/10':>12}{'MB at end':>11}", flush=True)
            run("the protocol itself", direct, folder, paths, options.messages, pid)
            with learning(folder, mail[1::2]):
                run("… while one more learns", direct, folder, paths, options.messages // 5, pid)
            if shutil.which("spamc"):
                run("spamc -c", spamc, folder, paths, options.spamc, pid)
            else:
                print("spamc is not installed: run scripts/install-mail", file=sys.stderr)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mail_serve", description=__doc__)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--spamc", type=int, default=5000, help="messages through spamc")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--data", type=Path, default=DATA)
    return parser.parse_args(arguments)


def corpus(folder: Path) -> Iterator[tuple[bytes, bool]]:
    """Messages, and whether they are spam."""
    archive = folder / "spamassassin.tar.gz"
    if not archive.exists():
        yield from made_up()
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = Path(member.name).parts
            file = tar.extractfile(member) if len(parts) == 3 else None
            if file is not None:
                yield file.read(), parts[1].startswith("spam")


def made_up() -> Iterator[tuple[bytes, bool]]:
    rng = random.Random(5)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(3, 9))) for _ in range(5000)]
    for number in range(4000):
        spam = number % 3 == 0
        text = rng.choices(words[:3000] if spam else words[2000:], k=rng.randint(50, 500))
        yield f"Subject: {' '.join(text[:5])}\n\n{' '.join(text)}\n".encode(), spam


def learn(folder: Path, mail: list[tuple[bytes, bool]]) -> None:
    from genus.mail.spamfilter import SpamFilter

    spam_filter = SpamFilter.open(folder / "mail.sqlite")
    for spam in (False, True):
        spam_filter.learn((raw for raw, label in mail if label == spam), spam)
    spam_filter.close()


@contextmanager
def server(folder: Path, workers: int) -> Iterator[int]:
    """The server, by its process."""
    options = ["--socket", folder / "socket", "--store", folder / "mail.sqlite"]
    command = [sys.executable, "-m", "genus.cli", "mail", "serve", *options, "--workers", workers]
    command += ["--no-log", *(["--user", "root"] if os.geteuid() == 0 else [])]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL) as process:
        try:
            end = monotonic() + 30
            while not (folder / "socket").exists():
                if process.poll() is not None or monotonic() > end:
                    raise OSError("the server did not start")
                sleep(0.05)
            yield process.pid
        finally:
            process.terminate()


def run(
    name: str, client: Client, folder: Path, paths: list[Path], messages: int, pid: int
) -> None:
    """Let all clients work at once, and print how they fared."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    share = messages // CLIENTS
    tenth = context.Barrier(CLIENTS + 1)
    workers = [
        context.Process(target=work, args=(client, folder, paths, share, each, queue, tenth))
        for each in range(CLIENTS)
    ]
    for worker in workers:
        worker.start()
    tenth.wait()
    before, computed = memory(pid), computing(pid)
    begun = perf_counter()
    taken = np.concatenate([queue.get() for _ in workers])
    for worker in workers:
        worker.join()
    seconds = perf_counter() - begun
    each = 1000 * (computing(pid) - computed) / len(taken)
    p50, p99, most = np.percentile(1000 * taken, (50, 99, 100))
    print(f"{name:26}{len(taken):>9,}{len(taken) / seconds:>8.0f}{p50:>8.1f}{p99:>8.1f}", end="")
    print(f"{most:>8.1f}{each:>8.2f}{before / 1e6:>12.1f}{memory(pid) / 1e6:>11.1f}", flush=True)


def work(
    client: Client, folder: Path, paths: list[Path], share: int, number: int, queue: Any, tenth: Any
) -> None:
    """One client: a tenth to warm up, then the rest, each timed."""
    rng = random.Random(number)
    chosen = rng.choices(paths, k=share)
    read = [path.read_bytes() for path in chosen] if client is direct else [b""] * share
    warm = share // 10
    for path, raw in zip(chosen[:warm], read, strict=False):
        client(folder, path, raw)
    tenth.wait()
    taken = []
    for path, raw in zip(chosen[warm:], read[warm:], strict=True):
        begun = perf_counter()
        client(folder, path, raw)
        taken.append(perf_counter() - begun)
    queue.put(np.array(taken))


def direct(folder: Path, path: Path, raw: bytes) -> None:
    ask(folder, b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(raw) + raw)


def ask(folder: Path, request: bytes) -> bytes:
    """The answer to a request."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(folder / "socket"))
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    if b" 0 EX_OK\r\n" not in answer:
        raise OSError(f"refused: {answer!r}")
    return answer


def spamc(folder: Path, path: Path, raw: bytes) -> None:
    program = shutil.which("spamc") or "spamc"
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(path), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    arguments = ["spamc", "-c", "-x", "-s", "10000000", "-U", str(folder / "socket")]
    pid = os.posix_spawn(program, arguments, {}, file_actions=actions)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code not in (0, 1):
        raise OSError(f"spamc ended with {code}")


@contextmanager
def learning(folder: Path, lessons: list[tuple[bytes, bool]]) -> Iterator[None]:
    """A client that learns one message after the other meanwhile."""
    context = multiprocessing.get_context("fork")
    process = context.Process(target=teach, args=(folder, lessons), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def teach(folder: Path, lessons: list[tuple[bytes, bool]]) -> None:
    for raw, spam in lessons:
        head = f"TELL SPAMC/1.5\r\nMessage-class: {'spam' if spam else 'ham'}\r\nSet: local\r\n"
        ask(folder, head.encode() + b"Content-length: %d\r\n\r\n" % len(raw) + raw)


def memory(pid: int) -> int:
    """Bytes of all workers of a server that are in memory."""
    lines = [
        line for each in workers_of(pid) for line in (each / "status").read_text().splitlines()
    ]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) * 1024


def computing(pid: int) -> float:
    """Seconds that all workers of a server have computed: utime and stime of proc(5)."""
    fields = [(each / "stat").read_text().rpartition(")")[2].split() for each in workers_of(pid)]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def workers_of(pid: int) -> list[Path]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [Path("/proc") / child for child in children]


if __name__ == "__main__":
    main(sys.argv[1:])
