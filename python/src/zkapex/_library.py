"""zkapex.h by ctypes: structs, functions, and sessions that turn an error into an exception."""

from __future__ import annotations

import contextlib
import ctypes
import json
import numbers
import operator
import os
import threading
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence, TypeVar, Union

from ._interrupts import signals_collected
from ._sentences import in_python

OK, REJECTED, ERROR, CANCELLED = range(4)

PathLike = Union[str, os.PathLike]
Progress = Callable[[str, int, int], None]


class Error(Exception):
    """Bad input, or a machine that failed. The text is the sentence that the command would print, with the names of
    Python's arguments in place of options.

    >>> try:
    ...     zkapex.Deployment("nothing.zka")
    ... except zkapex.Error as error:
    ...     print(error)
    cannot read nothing.zka: No such file or directory
    """


class Cancelled(Error):
    """The progress function stopped the step; nothing was written. An exception of its own comes out as itself.

    >>> def progress(stage, done, total):
    ...     raise zkapex.Cancelled("the battery is low")
    >>> try:
    ...     client.unlearn("psi.zka", "unlearned.safetensors", "proof.zka", session=zkapex.Session(progress=progress))
    ... except zkapex.Cancelled as reason:
    ...     print(reason)
    the battery is low
    """


class Buffer(Structure):
    _fields_ = [("data", c_void_p), ("length", c_size_t)]


def _options(name: str, **fields: Any) -> type[Structure]:
    """A struct of options, whose first field is its size."""
    return type(name, (Structure,), {"_fields_": [("size", c_size_t), *fields.items()]})


ProgressFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_uint64, c_uint64)
Texts = POINTER(c_char_p)

SessionOptions = _options("SessionOptions", threads=c_uint, memory=c_uint64, cache=c_char_p, progress=ProgressFunction,
                          user=c_void_p)
DeployOptions = _options(
    "DeployOptions", model=c_char_p, base=c_char_p, output=c_char_p, preset=c_char_p, covers=Texts,
    cover_count=c_size_t, frees=Texts, free_count=c_size_t, block=c_uint64, row_length=c_uint64, bits=c_uint32,
    floor=c_uint64, fraction_bits=c_uint32, width=c_uint32, error=c_char_p, cap=c_char_p, anchor=c_char_p,
    drift=c_char_p, added=c_char_p, no_anchor=c_int, allow_loose=c_int, force=c_int)
RequestOptions = _options(
    "RequestOptions", deployment=c_char_p, output=c_char_p, window=c_char_p, scores=c_char_p, ratio=c_char_p,
    after=c_char_p, method=c_char_p, operation=c_char_p, guide_from=c_char_p, guide_base=c_char_p,
    guide_scale=c_double, pull=c_uint64, progress=c_char_p, distance=c_char_p, distance_removed=c_char_p,
    nonce=c_char_p, force=c_int)
CurvatureOptions = _options("CurvatureOptions", deployment=c_void_p, output=c_char_p, run=c_char_p,
                            relative_damping=c_double, damping=c_double, force=c_int)
RegisterOptions = _options("RegisterOptions", deployment=c_char_p, model=c_char_p, curvature=c_char_p, base=c_char_p,
                           client=c_char_p, output=c_char_p, force=c_int)
UnlearnOptions = _options("UnlearnOptions", client=c_char_p, request=c_char_p, model_output=c_char_p,
                          proof_output=c_char_p, model=c_char_p, curvature=c_char_p, max_guide=c_char_p, dry_run=c_int,
                          force=c_int)
UpdateOptions = _options("UpdateOptions", client=c_char_p, model=c_char_p, curvature=c_char_p, base=c_char_p,
                         output=c_char_p, force=c_int)
SettleOptions = _options("SettleOptions", client=c_char_p, accepted=c_int, rejected=c_int, update=c_int,
                         window=c_char_p, sent=c_char_p, all=c_int)
ReceiptOptions = _options("ReceiptOptions", policy=c_char_p, receipt=Buffer, deployment=Buffer, entry=Buffer)
ProviderOptions = _options("ProviderOptions", ledger=c_char_p, deployment=c_void_p, base=c_char_p)

_STEPS: Mapping[str, Sequence[Any]] = {
    "describe": [c_void_p],
    "deploy": [POINTER(DeployOptions)],
    "deployment_open": [c_char_p, POINTER(c_void_p)],
    "request_make": [POINTER(RequestOptions)],
    "request_open": [c_char_p, c_void_p, POINTER(c_void_p)],
    "curvature_open": [POINTER(CurvatureOptions), POINTER(c_void_p)],
    "curvature_blocks": [c_void_p, c_int, Buffer, c_uint64],
    "curvature_gradients": [c_void_p, c_int, Buffer, c_uint64, c_uint64, c_uint64],
    "curvature_finish": [c_void_p],
    "register": [POINTER(RegisterOptions)],
    "unlearn": [POINTER(UnlearnOptions)],
    "update": [POINTER(UpdateOptions)],
    "settle": [POINTER(SettleOptions)],
    "admit": [POINTER(ProviderOptions), Buffer],
    "admit_update": [POINTER(ProviderOptions), Buffer],
    "publish": [POINTER(ProviderOptions), c_void_p],
    "verify": [POINTER(ProviderOptions), c_void_p, Buffer],
    "verify_batch": [POINTER(ProviderOptions), c_void_p, POINTER(Buffer), c_size_t, POINTER(c_int)],
    "receipt_check": [POINTER(ReceiptOptions)],
}


def _load() -> ctypes.CDLL:
    # Beside this file in an installed package; elsewhere where the variable says.
    path = os.environ.get("ZKAPEX_LIBRARY") or str(Path(__file__).with_name("libzkapex.so"))
    library = ctypes.CDLL(path)  # which releases the interpreter's lock around every call
    library.zkapex_version.restype = c_char_p
    library.zkapex_session_new.argtypes = [POINTER(SessionOptions), POINTER(c_void_p)]
    for name in ("zkapex_error_text", "zkapex_report"):
        getattr(library, name).argtypes, getattr(library, name).restype = [c_void_p], c_char_p
    library.zkapex_free.argtypes, library.zkapex_free.restype = [c_void_p], None
    for name, arguments in _STEPS.items():
        getattr(library, f"zkapex_{name}").argtypes = [c_void_p, *arguments]
    return library


library = _load()


def version() -> str:
    """The version of the library.

    >>> zkapex.version()
    '0.1.0'
    """
    return library.zkapex_version().decode()


T = TypeVar("T")


def expect(value: Any, kind: type[T], what: str) -> T:
    """The value, where it is of the kind that is wanted."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} is a zkapex.{kind.__name__}, not a {type(value).__name__}")
    return value


def text(value: Any, what: str = "this") -> bytes | None:
    """A text or a path as C wants it; numbers become texts, so that decimals stay what they are."""
    if value is None:
        return None
    if isinstance(value, numbers.Number) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{what} is a text, a path or a number, not a {type(value).__name__}")
    out = os.fsencode(value)
    if b"\0" in out:
        raise Error(f"{what} must not have a NUL in it: {os.fspath(value)!r}")
    return out


def absolute(path: Any, what: str) -> Path:
    """Where a path leads now, whatever the working folder will be."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{what} is a text or a path, not a {type(path).__name__}")
    if not text(path, what):
        raise Error(f"{what} is empty, and a path is needed")
    return Path(path).absolute()


def texts(values: str | Sequence[str], what: str) -> tuple[Any, int]:
    """An array of texts for C, or NULL, and how many they are. One text is a list of one."""
    values = [values] if isinstance(values, str) else list(values)
    return ((c_char_p * len(values))(*(text(value, what) for value in values)) if values else None), len(values)


_MOST = {"threads": 1024}


def _number(value: Any, kind: Any, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {value!r}") from None
    most = _MOST.get(name, (1 << 8 * ctypes.sizeof(kind)) - 1)
    if not 0 <= number <= most:
        raise Error(f"{name} is a number from 0 to {most}, not {number}")
    return number


def _as_c(value: Any, kind: Any, name: str) -> Any:
    if kind is c_char_p:
        return text(value, name)
    if kind is c_int:
        if isinstance(value, str) or value not in (True, False):
            raise TypeError(f"{name} is True or False, not {value!r}")
        return int(value)
    if kind is c_double:
        if not isinstance(value, numbers.Real):
            raise TypeError(f"{name} is a number, not {value!r}")
        return float(value)
    return _number(value, kind, name) if kind in (c_uint, c_uint32, c_uint64) else value


def options(kind: type[Structure], **values: Any) -> Structure:
    """A struct with these values; what is None keeps the library's default. Its `handles` are those of the values."""
    out = kind(size=ctypes.sizeof(kind))
    types = dict(kind._fields_)
    out.handles = [value for value in values.values() if isinstance(value, Handle)]
    for name, value in values.items():
        if value is not None:
            setattr(out, name, value.pointer if isinstance(value, Handle) else _as_c(value, types[name], name))
    return out


def not_zero(**values: Any) -> None:
    """In C, a 0 stands for the default; whoever says 0 here means it."""
    for name, value in values.items():
        if value is not None and not isinstance(value, str) and value == 0:
            raise Error(f"{name} of 0 is not supported: leave it out for the default")


def buffer_of(data: Any) -> tuple[Buffer, Any]:
    """A buffer on bytes, or on anything that has the buffer protocol, without a copy; and what keeps it alive."""
    view = memoryview(data).cast("B") if memoryview(data).nbytes else memoryview(b"")
    if view.nbytes == 0:
        return Buffer(None, 0), None
    if view.readonly:
        import numpy

        array = numpy.frombuffer(view, dtype=numpy.uint8)
        return Buffer(array.ctypes.data, view.nbytes), array
    array = (ctypes.c_char * view.nbytes).from_buffer(view)
    return Buffer(ctypes.addressof(array), view.nbytes), array


_users = threading.RLock()  # for the counts of all handles


def _users_anew() -> None:
    # Another thread may have held it when the process was forked off.
    global _users
    _users = threading.RLock()


os.register_at_fork(after_in_child=_users_anew)

H = TypeVar("H", bound="Handle")


class Handle:
    """A handle of the library, freed with the object. One that a step is using cannot be closed."""

    _what = "handle"
    _by_one = True  # whether only one thread may use it at a time

    def __init__(self, pointer: int | None = None) -> None:
        self.pointer = pointer
        self._process = os.getpid()
        self._used_by = 0

    def __enter__(self: H) -> H:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {self._what} of this process can be neither copied nor pickled: make another one")

    @contextlib.contextmanager
    def in_use(self) -> Iterator[int]:
        """The pointer, which nobody frees meanwhile."""
        with _users:
            self.check_open()
            if self._by_one and self._used_by:
                raise Error(f"the {self._what} is in use: by another thread, or by the step whose progress is heard of")
            self._used_by += 1
        try:
            yield self.pointer
        finally:
            with _users:
                self._used_by -= 1

    def check_open(self) -> None:
        """An error where it is closed."""
        if not self.pointer:
            raise Error(f"the {self._what} is closed")

    def close(self) -> None:
        """Frees the handle; a step that is given it afterwards is an error. So is closing what a step is using."""
        with _users:
            if self._used_by and self.is_of_this_process():
                raise Error(f"the {self._what} is in use: close it when that step is over")
            pointer, self.pointer = self.pointer, None
        # In a process that was forked off, a session's threads do not exist, and would be waited for.
        if pointer and self.is_of_this_process():
            library.zkapex_free(pointer)

    def is_of_this_process(self) -> bool:
        """Whether it was made here, and not before a fork."""
        return self._process == os.getpid()

    def __del__(self) -> None:
        if getattr(self, "pointer", None) and not self._used_by:
            self.close()


class _Heard:
    """What the library calls at each part that is done: whether the step is to be cancelled."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.signalled: list[BaseException] = []
        self.raised: list[BaseException] = []

    def __call__(self, _: object, stage: bytes, done: int, total: int) -> int:
        try:
            if self.progress is not None:
                self.progress(stage.decode(), done, total)
        except BaseException as raised:  # must not cross the library; raised again behind it
            self.raised.append(raised)
        return int(bool(self.signalled or self.raised))


class Session(Handle):
    """How steps work: with how many threads, how much memory, and who hears of progress.

    ``progress`` is a function of a stage's name, the parts that are done, and all of them. An exception that it raises
    cancels the step and comes out of the call. ``progress=True`` shows bars of tqdm, where that is installed.

    >>> with zkapex.Session(threads=2, progress=print) as session:
    ...     client.unlearn("psi.zka", "unlearned.safetensors", "proof.zka", session=session)

    One session is used by one thread at a time. Without one, each thread has its own. Ctrl-C cancels a step at the
    next part that is done.
    """

    _what = "session"

    def __init__(self, threads: int = 0, memory: int = 0, cache: PathLike | None = None,
                 progress: Progress | bool | None = None) -> None:
        if progress is True:
            from ._bars import bars

            progress = bars()
        if progress and not callable(progress):
            raise TypeError(f"progress is a function, True or False, not {progress!r}")
        self._heard = _Heard(progress or None)
        self._function = ProgressFunction(self._heard)
        pointer = c_void_p()
        given = options(SessionOptions, threads=threads, memory=memory, cache=cache)
        given.progress = self._function
        super().__init__()
        if library.zkapex_session_new(given, pointer) != OK:
            raise Error(library.zkapex_error_text(None).decode())
        self.pointer = pointer.value

    def call(self, step: str, *arguments: Any, opens: Handle | None = None) -> tuple[bool, dict[str, Any]]:
        """Whether the step was accepted, and its report. Handles are in use meanwhile, those in options too.

        A handle that the step opens is told where it is before anything can be raised, so that it can be closed."""
        if not self.is_of_this_process():
            raise Error("the session was made before this process was forked off: make a new one")
        with contextlib.ExitStack() as used:
            pointer = used.enter_context(self.in_use())
            for handle in (handle for argument in arguments for handle in getattr(argument, "handles", ())):
                used.enter_context(handle.in_use())
            given = [used.enter_context(a.in_use()) if isinstance(a, Handle) else a for a in arguments]
            self._heard.raised = []
            self._heard.signalled = used.enter_context(signals_collected())
            opened = c_void_p()
            if opens is not None:
                given.append(ctypes.byref(opened))
            status = getattr(library, f"zkapex_{step}")(pointer, *given)
            if opens is not None:
                opens.pointer = opened.value
            for raised in self._heard.raised:
                raise raised
            if status in (ERROR, CANCELLED):
                said = in_python(library.zkapex_error_text(pointer).decode(errors="replace"), step)
                raise Cancelled(said) if status == CANCELLED else Error(said)
            return status == OK, json.loads(library.zkapex_report(pointer))


_of_thread = threading.local()


def session_or_default(session: Session | None) -> Session:
    """The session that was given, or this thread's own."""
    if session is not None:
        return expect(session, Session, "session")
    if not hasattr(_of_thread, "session") or not _of_thread.session.is_of_this_process():
        _of_thread.session = Session()
    return _of_thread.session
