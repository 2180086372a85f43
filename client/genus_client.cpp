// genus-client: send a message to `genus mail serve`, and write its answer.
//
// Mail servers start a program for each message. Python takes longer to start than the filter takes
// to judge, so this program only sends stdin to the server in spamd's protocol, and writes the
// answer to stdout. If anything fails, the message passes unchanged.

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr char DEFAULT_SOCKET[] = "/run/genus/socket";
constexpr char USAGE[] =
    "Usage: genus-client [OPTIONS] < MESSAGE\n"
    "\n"
    "  Mark a message on its way to stdout, as genus mail filter does, by asking\n"
    "  genus mail serve. If anything fails, the message passes unchanged.\n"
    "\n"
    "  --socket PATH         The server's Unix socket.\n"
    "                        [default: $GENUS_SOCKET, or /run/genus/socket]\n"
    "  --connect HOST:PORT   Ask by TCP instead.\n"
    "  --user NAME           Ask the filter of this user, if the server allows it.\n"
    "  --secret-file FILE    A file whose first line is the server's secret.\n"
    "  --timeout SECONDS     Give up after this long.  [default: 30]\n"
    "  --check               Print the verdict. The exit code tells it, too:\n"
    "                        0 spam, 1 ham, 2 unsure, 3 error.\n"
    "  --learn CLASS         Learn the message as spam or ham, or forget it: spam,\n"
    "                        ham or forget. The exit code is 75 if that failed.\n"
    "  --help                Show this message.\n"
    "\n"
    "  Exit codes: 0 if the message was passed on, 1 if not, 2 for wrong usage.\n";

enum Exit { DONE = 0, NOT_PASSED_ON = 1, WRONG_USAGE = 2, CHECK_FAILED = 3, NOT_LEARNED = 75 };

struct Options {
    std::string socket, host, port, user, secret_file, learn;
    double seconds = 30;
    bool check = false;
};

struct Failure {
    std::string what;
};

[[noreturn]] void fail(std::string what) {
    throw Failure{std::move(what)};
}

[[noreturn]] void fail_by_errno(const std::string& doing) {
    fail(doing + ": " + std::strerror(errno));
}

class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return number_; }

private:
    int number_;
};

double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Wait until a descriptor is ready, or fail at the deadline.
void wait(int descriptor, short events, double deadline) {
    for (;;) {
        const double left = deadline - now();
        if (left <= 0) fail("the server took too long");
        pollfd waited{descriptor, events, 0};
        const int ready = poll(&waited, 1, static_cast<int>(left * 1000) + 1);
        if (ready > 0) return;
        if (ready < 0 && errno != EINTR) fail_by_errno("cannot wait for the server");
    }
}

bool would_block() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// Return all of stdin, which may be a non-blocking pipe; nothing if it cannot be read.
bool read_stdin(std::string& message) {
    char block[65536];
    for (;;) {
        const ssize_t size = read(STDIN_FILENO, block, sizeof block);
        if (size > 0) {
            message.append(block, static_cast<std::size_t>(size));
        } else if (size == 0) {
            return true;
        } else if (would_block()) {
            pollfd waited{STDIN_FILENO, POLLIN, 0};
            poll(&waited, 1, -1);
        } else {
            return false;
        }
    }
}

bool write_stdout(std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = write(STDOUT_FILENO, text.data(), text.size());
        if (size >= 0) {
            text.remove_prefix(static_cast<std::size_t>(size));
        } else if (would_block()) {
            pollfd waited{STDOUT_FILENO, POLLOUT, 0};
            poll(&waited, 1, -1);
        } else {
            return false;
        }
    }
    return true;
}

int finish_connecting(int descriptor, const sockaddr* address, socklen_t size, double deadline) {
    if (connect(descriptor, address, size) == 0) return 0;
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    wait(descriptor, POLLOUT, deadline);
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
}

int opened(int family, int kind) {
    const int descriptor = socket(family, kind, 0);
    if (descriptor < 0) fail_by_errno("cannot open a socket");
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    return descriptor;
}

int connect_to_path(const std::string& path, double deadline) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) fail("the name of the socket is too long");
    std::memcpy(address.sun_path, path.data(), path.size());
    for (;;) {
        const int descriptor = opened(AF_UNIX, SOCK_STREAM);
        const int error = finish_connecting(descriptor, reinterpret_cast<sockaddr*>(&address),
                                            sizeof address, deadline);
        if (error == 0) return descriptor;
        close(descriptor);
        if (error != EAGAIN || now() > deadline) fail(path + ": " + std::strerror(error));
        usleep(10'000);  // its queue is full, of which Linux tells at once
    }
}

int connect_to_host(const std::string& host, const std::string& port, double deadline) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
    if (code != 0) fail(host + ": " + gai_strerror(code));
    int error = 0;
    for (addrinfo* each = found; each != nullptr; each = each->ai_next) {
        const int descriptor = opened(each->ai_family, SOCK_STREAM);
        error = finish_connecting(descriptor, each->ai_addr, each->ai_addrlen, deadline);
        if (error == 0) {
            freeaddrinfo(found);
            return descriptor;
        }
        close(descriptor);
    }
    freeaddrinfo(found);
    fail(host + ":" + port + ": " + std::strerror(error));
}

// Send a request, and read until the server closes. It may answer before it has read everything.
std::string asked(int descriptor, std::string_view request, double deadline) {
    std::string answer;
    char block[65536];
    bool sent_all = false;
    for (;;) {
        wait(descriptor, static_cast<short>(sent_all ? POLLIN : POLLIN | POLLOUT), deadline);
        if (!sent_all) {
            const ssize_t size = send(descriptor, request.data(), request.size(), MSG_NOSIGNAL);
            if (size >= 0) {
                request.remove_prefix(static_cast<std::size_t>(size));
            } else if (errno == EPIPE || errno == ECONNRESET) {
                request = {};  // it does not listen any more, but may have said why
            } else if (!would_block()) {
                fail_by_errno("cannot send the message");
            }
            if (request.empty()) {
                shutdown(descriptor, SHUT_WR);
                sent_all = true;
            }
        }
        const ssize_t size = recv(descriptor, block, sizeof block, 0);
        if (size > 0) {
            answer.append(block, static_cast<std::size_t>(size));
        } else if (size == 0) {
            return answer;
        } else if (!would_block()) {
            if (errno == ECONNRESET && !answer.empty()) return answer;
            fail_by_errno("the server closed the connection");
        }
    }
}

std::string first_line_of(const std::string& path) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) fail_by_errno(path);
    struct stat told{};
    if (fstat(file.get(), &told) == 0 && (told.st_mode & 077) != 0)
        fail("others can access " + path + "; run: chmod 600 " + path);
    char block[1024];
    const ssize_t size = read(file.get(), block, sizeof block);
    if (size < 0) fail_by_errno(path);
    const std::string_view text(block, static_cast<std::size_t>(size));
    const std::string line(text.substr(0, text.find_first_of("\r\n")));
    if (line.empty()) fail("the first line of " + path + " is empty");
    return line;
}

std::string request_for(const Options& options, const std::string& message) {
    std::string head = !options.learn.empty() ? "TELL" : options.check ? "CHECK" : "PROCESS";
    head += " SPAMC/1.5\r\nClient: genus\r\n";
    if (!options.user.empty()) head += "User: " + options.user + "\r\n";
    if (!options.secret_file.empty())
        head += "Secret: " + first_line_of(options.secret_file) + "\r\n";
    if (options.learn == "forget") head += "Remove: local\r\n";
    if (options.learn == "spam" || options.learn == "ham")
        head += "Message-class: " + options.learn + "\r\nSet: local\r\n";
    head += "Content-length: " + std::to_string(message.size()) + "\r\n\r\n";
    return head + message;
}

struct Answer {
    std::string head, body;

    // Return the value of a header, in the server's spelling.
    std::string header(const std::string& name) const {
        const std::size_t start = head.find("\r\n" + name + ": ");
        if (start == std::string::npos) return "";
        const std::size_t value = start + name.size() + 4;
        return head.substr(value, head.find("\r\n", value) - value);
    }
};

// Return the parts of an answer of success; fail with the text of any other answer.
Answer parted(const std::string& answer) {
    const std::size_t line_end = answer.find("\r\n");
    if (answer.compare(0, 6, "SPAMD/") != 0 || line_end == std::string::npos)
        fail("the server did not answer");
    const std::string line = answer.substr(0, line_end);
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos || line.compare(blank, 3, " 0 ") != 0)
        fail("the server says " + line.substr(blank == std::string::npos ? 0 : blank + 1));
    const std::size_t end = answer.find("\r\n\r\n");
    if (end == std::string::npos) fail("the server's answer is incomplete");
    return {answer.substr(0, end + 2), answer.substr(end + 4)};
}

Answer ask(const Options& options, const std::string& message) {
    const double deadline = now() + options.seconds;
    const std::string request = request_for(options, message);
    const Descriptor server(options.host.empty()
                                ? connect_to_path(options.socket, deadline)
                                : connect_to_host(options.host, options.port, deadline));
    return parted(asked(server.get(), request, deadline));
}

void say(const std::string& text) {
    std::fprintf(stderr, "genus-client: %s\n", text.c_str());
}

// End a text with a full stop; what the server says may have one already.
std::string sentence(const std::string& text) {
    return !text.empty() && text.back() == '.' ? text : text + ".";
}

int check(const Options& options, const std::string& message) {
    try {
        const std::string verdict = ask(options, message).header("Verdict");
        if (!write_stdout(verdict + "\n")) return CHECK_FAILED;
        if (verdict.compare(0, 5, "spam;") == 0) return 0;
        if (verdict.compare(0, 4, "ham;") == 0) return 1;
        if (verdict.compare(0, 7, "unsure;") == 0) return 2;
        say("the server gave no verdict");
    } catch (const Failure& failure) {
        say(failure.what);
    }
    return CHECK_FAILED;
}

int learn(const Options& options, const std::string& message) {
    try {
        ask(options, message);
        return DONE;
    } catch (const Failure& failure) {
        say(sentence(failure.what) + " Nothing was learned.");
        return NOT_LEARNED;
    }
}

int filter(const Options& options, const std::string& message) {
    try {
        const Answer answer = ask(options, message);
        if (answer.header("Content-length") != std::to_string(answer.body.size()))
            fail("the server's answer is incomplete");
        if (write_stdout(answer.body)) return DONE;
    } catch (const Failure& failure) {
        say(sentence(failure.what) + " The message passes unchanged.");
        if (write_stdout(message)) return DONE;
    }
    say("the message was not passed on");
    return NOT_PASSED_ON;
}

[[noreturn]] void misused(const std::string& what) {
    std::fprintf(stderr, "Error: %s See genus-client --help.\n", what.c_str());
    std::exit(WRONG_USAGE);
}

Options parsed(int count, char** given) {
    Options options;
    const char* set = std::getenv("GENUS_SOCKET");
    options.socket = set != nullptr && *set != '\0' ? set : DEFAULT_SOCKET;
    for (int at = 1; at < count; ++at) {
        std::string name = given[at], value;
        if (name == "--help" || name == "-h") {
            std::fputs(USAGE, stdout);
            std::exit(DONE);
        }
        if (name == "--check") {
            options.check = true;
            continue;
        }
        const std::size_t equals = name.find('=');
        const bool is_joined = equals != std::string::npos;
        if (is_joined) {
            value = name.substr(equals + 1);
            name.resize(equals);
        }
        if (name != "--socket" && name != "--connect" && name != "--user" &&
            name != "--secret-file" && name != "--timeout" && name != "--learn")
            misused("There is no option " + name + ".");
        if (!is_joined) {
            if (++at == count) misused(name + " needs a value.");
            value = given[at];
        }
        if (name == "--socket") {
            options.socket = value;
        } else if (name == "--connect") {
            const std::size_t colon = value.rfind(':');
            if (colon == std::string::npos || colon == 0) misused(value + " is not HOST:PORT.");
            options.host = value.substr(0, colon);
            if (options.host.front() == '[' && options.host.back() == ']')
                options.host = options.host.substr(1, options.host.size() - 2);
            options.port = value.substr(colon + 1);
        } else if (name == "--user") {
            if (value.empty() || value.find_first_of("\r\n") != std::string::npos)
                misused("--user needs a name, on one line.");
            options.user = value;
        } else if (name == "--secret-file") {
            options.secret_file = value;
        } else if (name == "--timeout") {
            char* end = nullptr;
            options.seconds = std::strtod(value.c_str(), &end);
            if (value.empty() || *end != '\0' || !(options.seconds > 0 && options.seconds < 1e6))
                misused(value + " is no number of seconds.");
        } else {
            if (value != "spam" && value != "ham" && value != "forget")
                misused("--learn goes with spam, ham or forget.");
            options.learn = value;
        }
    }
    if (options.check && !options.learn.empty()) misused("--check and --learn exclude each other.");
    return options;
}

}  // namespace

int main(int count, char** given) {
    const Options options = parsed(count, given);
    std::signal(SIGPIPE, SIG_IGN);  // it is told as an error where it happens
    const int failed = options.check            ? CHECK_FAILED
                       : !options.learn.empty() ? NOT_LEARNED
                                                : NOT_PASSED_ON;
    std::string message;
    try {
        if (!read_stdin(message) || message.empty()) {
            say("there is no message in stdin");
            return failed;
        }
        if (options.check) return check(options, message);
        if (!options.learn.empty()) return learn(options, message);
        return filter(options, message);
    } catch (const std::bad_alloc&) {
        say("there is not enough memory for this message");
        return failed == NOT_PASSED_ON && write_stdout(message) ? DONE : failed;
    }
}
