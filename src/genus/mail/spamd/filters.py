"""Find the filter of a user: one for all users, or one for each on top of the site's."""

from __future__ import annotations

import re
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from genus.mail.spamd.names import Folder, Names
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
    """One store for all users; or a folder with a store for each, on top of a site's store.

    `creates` is whether missing stores are created: the common one at the start, and those of
    users when they learn.
    """

    store: str | None = None
    site: str | None = None
    users: Path | None = None
    most_users: int = MOST_USERS
    names: Names = field(default_factory=Names)
    creates: bool = True


class Filters:
    """The filters of one process; the most recently used ones are kept open."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self._folder = None if stores.users is None else Folder(stores.users)
        self._open: OrderedDict[str | None, SpamFilter] = OrderedDict()

    def known_as(self, given: str | None) -> str | None:
        """Return the name of the store for a user's name or address, or None if there is none."""
        if self._folder is None or given is None or USER.fullmatch(given) is None:
            return None
        found = (self._folder.found(each) for each in self.stores.names.of(given))
        return next((name for name in found if name is not None), None)

    def to_check(self, user: str | None) -> SpamFilter:
        """Return the filter of a user, or the site's if the user has no store."""
        return self._filter(self._own(user))

    def of_recipient(self, address: str | None) -> tuple[str | None, SpamFilter]:
        """Return the name of the store for an address and its filter, or None and the site's."""
        user = self.known_as(address)
        return user, self._filter(user)

    def to_learn(self, user: str | None) -> SpamFilter:
        """Return the filter of a user; create the store, in lower case, if there is none."""
        if self._folder is None:
            return self._filter(None)
        if user is None:
            raise Refusal(Code.EX_USAGE, "each user has a store here: send User: NAME")
        own = self._own(user)
        if own is None and sum(1 for _ in self._folder.stores()) >= self.stores.most_users:
            most = f"there are {self.stores.most_users} stores already, the most that are allowed"
            raise Refusal(Code.EX_UNAVAILABLE, most)
        return self._filter(own or user.lower())

    def create(self) -> str:
        """Create the common store, and return its name."""
        spam_filter = SpamFilter.open(*self._common)
        try:
            return spam_filter.store.layers[0].name
        finally:
            spam_filter.close()

    def open(self) -> None:
        """Open the common store; if that fails, each request for it reports the reason.

        A process that has a store open notices if another file is put in its place, and if there is
        none any more. Such a store is not created again: it would know nothing.
        """
        with suppress(StoreError, OSError):
            self._filter(None)

    def close(self) -> None:
        """Close all filters; they are opened again when they are needed."""
        while self._open:
            self._open.popitem()[1].close()

    def _own(self, user: str | None) -> str | None:
        """Return the name of a user's store, or None if there is none."""
        if self._folder is None or user is None:
            return None
        if USER.fullmatch(user) is None:
            raise Refusal(
                Code.EX_USAGE,
                "a User must have 1 to 128 letters, digits and _.@+=-, and must not begin with "
                ".@+=-",
            )
        return self._folder.found(user)

    def _filter(self, user: str | None) -> SpamFilter:
        found = self._open.get(user)
        if found is None:
            found = self._open[user] = self._opened(user)
            if len(self._open) > OPEN:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(user)
        return found

    @property
    def _common(self) -> tuple[str | None, str | None]:
        """The names of the common store and of the site's, on top of which it is."""
        if self._folder is None:
            return self.stores.store, self.stores.site
        return self.stores.site, None

    def _opened(self, user: str | None) -> SpamFilter:
        if self._folder is None or user is None:
            return existing(*self._common)
        own = self._folder.file(user)
        if self.stores.creates:
            return SpamFilter.open(own, self.stores.site)
        return existing(own, self.stores.site)


def existing(store: str | Path | None, site: str | None) -> SpamFilter:
    """Open the filter of a store; raise NoStore if it is missing, even if the site's exists."""
    found = SpamFilter.open(store, site, create=False)
    if site is not None and len(found.store.layers) == 1:
        found.close()
        SpamFilter.open(store, create=False)  # raises the error
    return found
