"""Every key of the console, once: bindings, the line of keys, the help and the command palette come from here.

An action's `name` is the method `action_…` of its page. What cannot be undone is a capital letter, and asks first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Action:
    """`label` stands beside the key, in a word or two; `help` says in a sentence what it does."""

    name: str
    key: str
    label: str
    help: str

    @property
    def dangerous(self) -> bool:
        return len(self.key) == 1 and self.key.isupper()

    @property
    def shown_key(self) -> str:
        return _SHOWN.get(self.key, self.key)


@dataclass(frozen=True, slots=True)
class PageName:
    """`short` is the title where there is little room."""

    name: str
    key: str
    title: str
    short: str
    help: str


_SHOWN = {"slash": "/", "question_mark": "?", "ctrl+p": "^p"}

PAGES = (
    PageName("overview", "1", "Overview", "Overview", "How the gateway is, and what to do next."),
    PageName("nodes", "2", "Nodes", "Nodes", "The machines that answer calls, and those that could."),
    PageName("shield", "3", "Shield", "Shield", "What is masked before anything leaves, and a box to try it."),
    PageName("providers", "4", "Providers", "Providers", "External providers, and which of them calls may reach."),
    PageName("keys", "5", "Keys", "Keys", "The API keys: one for each tool."),
    PageName("ledger", "6", "Ledger", "Ledger", "Every call: who, when, which model, what left the building."),
    PageName("certificates", "7", "Certificates", "Certs", "The signed evidence of every call."),
    PageName("models", "8", "Models", "Models", "Which models the machines have, and which answer."),
    PageName("audit", "9", "Audit", "Audit", "Who has changed what."),
)

_DETAIL = Action("open", "enter", "details", "Show everything about the chosen line.")
_FILTER = Action("filter", "slash", "filter", "Show only the lines that contain a text; esc shows all again.")
_COPY = Action("copy", "y", "copy", "Send the id of the chosen line to the terminal's clipboard, and show it.")

EVERYWHERE = (
    Action("reload", "ctrl+r", "reload", "Ask the daemon again now."),
    Action("help", "question_mark", "help", "Show what every key does here."),
    Action("command_palette", "ctrl+p", "commands", "Find an action or a page by its name."),
    Action("quit", "q", "quit", "Leave the console. The daemon goes on."),
)

ON_PAGE: Mapping[str, tuple[Action, ...]] = {
    "overview": (),
    "nodes": (
        _DETAIL,
        Action("admit", "a", "admit", "Let a candidate in, after comparing its words."),
        Action("add", "n", "add", "Take in a machine by its address."),
        Action("drain", "d", "drain", "Give a machine no more calls; what runs there goes on."),
        Action("resume", "r", "resume", "Give a drained machine calls again."),
        Action("join_key", "k", "join key", "Show the key with which machines join without a click, or make one."),
        Action("reject", "R", "reject", "Do not show a candidate any more."),
        Action("remove", "X", "remove", "Put a machine out at once; its running calls break off."),
        Action("hidden", "h", "hidden", "Show also what was rejected or put out; again: hide it."),
        _FILTER,
        _COPY,
    ),
    "shield": (
        Action("mode", "m", "mode", "Choose what is masked: standard, medical or off."),
        Action("try_text", "t", "try a text", "Paste a text into the box and see what would be masked, and why."),
        Action("clear", "c", "clear", "Empty the box."),
    ),
    "providers": (
        _DETAIL,
        Action("add", "n", "add", "Add a provider."),
        Action("change", "c", "change", "Change the chosen provider: its key, its models, or where it is."),
        Action("test", "t", "test", "Make a trial call to the chosen provider."),
        Action("allow", "l", "allow-list", "Write the list of providers that calls may reach, best first."),
        Action("active", "a", "active", "Send calls without an allow-list to the chosen provider."),
        Action("workspace", "w", "workspace", "Look at another workspace's allow-list."),
        Action("explain", "p", "policy", "Say in whole sentences who answers, what leaves and what is refused."),
        Action("unscannable", "U", "pictures", "Say whether pictures and files, which cannot be scanned, may leave."),
        Action("open_machines", "O", "open machines", "Say whether sensitive calls may use machines that have no key."),
        Action("remove", "X", "remove", "Forget the chosen provider and its key."),
        _COPY,
    ),
    "keys": (
        _DETAIL,
        Action("create", "n", "new key", "Make a key for a tool. It is shown once."),
        Action("revoke", "X", "revoke", "Refuse the chosen key from the next request on."),
        _FILTER,
        _COPY,
    ),
    "ledger": (
        _DETAIL,
        Action(
            "filter",
            "slash",
            "filter",
            "Say which calls to show: days, a key, a model, a machine, an ending; esc: all.",
        ),
        Action("left", "l", "left", "Show only the calls of which something left the building; again: all."),
        Action("day", "d", "day", "Go from today to yesterday, to seven days, to all."),
        Action("group", "g", "sums by", "Show sums by day, key, model, machine or task instead of calls."),
        Action("certificate", "c", "certificate", "Open the certificate of the chosen call."),
        Action("export", "e", "export", "Write the calls that are shown to a CSV file."),
        _COPY,
    ),
    "certificates": (
        _DETAIL,
        Action("verify", "v", "verify", "Check the chosen certificate before your eyes, step by step."),
        Action("export", "e", "export", "Write the chosen certificate, and the public keys, to files."),
        Action("find", "f", "find", "Open a certificate by its id (prf_…)."),
        _FILTER,
        _COPY,
    ),
    "models": (
        _DETAIL,
        Action("pull", "p", "pull", "Get a model onto a machine."),
        Action("choose", "s", "set", "Say which model has a role: full, fast, local or embedding."),
        Action("unset", "u", "unset", "Let a role fall back again."),
        Action("cancel", "X", "cancel", "Stop the pull of the chosen line."),
        _FILTER,
        Action("copy", "y", "copy", "Send the name of the chosen model to the terminal's clipboard, and show it."),
    ),
    "audit": (_DETAIL, _FILTER, _COPY),
}


def bindings(page: str) -> list[Binding]:
    """What a page's screen binds: its own actions."""
    return [_binding(action) for action in ON_PAGE[page]]


def app_bindings() -> list[Binding]:
    """What holds on every page: the pages themselves, and what is everywhere."""
    pages = [Binding(page.key, f"app.page('{page.name}')", page.title, show=False) for page in PAGES]
    return [*pages, *(_binding(action, "app.") for action in EVERYWHERE)]


def help_lines(page: str) -> Iterable[tuple[str, str]]:
    """Key and sentence of all that can be pressed on a page."""
    for action in (*ON_PAGE[page], *EVERYWHERE):
        asks = " Asks first." if action.dangerous else ""
        yield action.shown_key, action.help + asks
    for other in PAGES:
        yield other.key, f"{other.title}: {other.help[0].lower()}{other.help[1:]}"


def _binding(action: Action, where: str = "") -> Binding:
    return Binding(action.key, f"{where}{action.name}", action.label, show=False)
