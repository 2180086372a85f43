"""Find the filter of a user: one for all users, or one for each on top of the site's."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from genus.mail.spamd.protocol import Code, Refusal
from genus.mail.spamfilter import SpamFilter
from genus.mail.store import StoreError

OPEN = 16  # filters that are kept open
MOST_USERS = 10_000  # stores that may be created
LONGEST_USER = 128
# No /, no leading dot or dash: the name of a store must be a plain file name.
USER = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.@+=-]{{0,{LONGEST_USER - 1}}}")


@dataclass(frozen=True)
class Stores:
    """One store for all users; or a folder with a store for each, on top of a site's store."""

    store: str | None = None
    site: str | None = None
    users: Path | None = None
    most_users: int = MOST_USERS


class Filters:
    """The filters of one process; the most recently used ones are kept open."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self._open: OrderedDict[str | None, SpamFilter] = OrderedDict()

    def to_check(self, user: str | None) -> SpamFilter:
        """Return the filter of a user, or the site's if the user has no store."""
        if self.stores.users is None:
            return self._filter(None)
        if user is None or not self._own(user).exists():
            return self._filter(None)
        return self._filter(user)

    def of_recipient(self, address: str | None) -> tuple[str | None, SpamFilter]:
        """Return the user with this address and the user's filter, or None and the site's filter.

        A store is named after the whole address, or after the part before the @.
        """
        if self.stores.users is not None and address is not None:
            for user in (address, address.partition("@")[0]):
                if USER.fullmatch(user) is not None and self._own(user).exists():
                    return user, self._filter(user)
        return None, self._filter(None)

    def to_learn(self, user: str | None) -> SpamFilter:
        """Return the filter of a user; create the store if there is none."""
        if self.stores.users is None:
            return self._filter(None)
        if user is None:
            raise Refusal(Code.EX_USAGE, "each user has a store here: send User: NAME")
        if not self._own(user).exists() and self._number() >= self.stores.most_users:
            most = f"there are {self.stores.most_users} stores already, the most that are allowed"
            raise Refusal(Code.EX_UNAVAILABLE, most)
        return self._filter(user)

    def open(self) -> None:
        """Open the common store; if that fails, each request for it reports the reason.

        A process that has a store open notices if another file is put in its place.
        """
        with suppress(StoreError, OSError):
            self._filter(None)

    def close(self) -> None:
        """Close all filters; they are opened again when they are needed."""
        while self._open:
            self._open.popitem()[1].close()

    def _own(self, user: str) -> Path:
        assert self.stores.users is not None
        if USER.fullmatch(user) is None:
            raise Refusal(
                Code.EX_USAGE,
                "a User must have 1 to 128 letters, digits and _.@+=-, and must not begin with "
                ".@+=-",
            )
        return self.stores.users / f"{user}.sqlite"

    def _number(self) -> int:
        assert self.stores.users is not None
        return sum(name.endswith(".sqlite") for name in os.listdir(self.stores.users))

    def _filter(self, user: str | None) -> SpamFilter:
        found = self._open.get(user)
        if found is None:
            found = self._open[user] = self._opened(user)
            if len(self._open) > OPEN:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(user)
        return found

    def _opened(self, user: str | None) -> SpamFilter:
        if self.stores.users is None:
            return SpamFilter.open(self.stores.store, self.stores.site)
        if user is None:
            return SpamFilter.open(self.stores.site)
        return SpamFilter.open(self._own(user), self.stores.site)
