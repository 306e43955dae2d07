"""zkapex.h by ctypes: structs, functions, and sessions that turn an error into an exception."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence, Union

OK, REJECTED, ERROR, CANCELLED, BUSY = range(5)

PathLike = Union[str, "os.PathLike[str]"]
Progress = Callable[[str, int, int], None]


class Error(Exception):
    """Bad input, or a machine that failed. The text is the sentence that the command would print.

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


def text(value: Any) -> bytes | None:
    """A text or a path as C wants it; numbers become texts, so that decimals stay what they are."""
    return None if value is None else os.fspath(value if isinstance(value, (str, os.PathLike)) else str(value)).encode()


def options(kind: type[Structure], **values: Any) -> Structure:
    """A struct with these values; what is None keeps the library's default."""
    out = kind(size=ctypes.sizeof(kind))
    types = dict(kind._fields_)
    for name, value in values.items():
        if value is None:
            continue
        if types[name] is c_char_p:
            value = text(value)
        elif types[name] is c_int:
            value = int(bool(value))
        setattr(out, name, value)
    return out


def texts(values: Sequence[str]) -> Any:
    """An array of texts for C, or NULL."""
    return (c_char_p * len(values))(*map(text, values)) if values else None


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


class Handle:
    """A handle of the library, freed with the object."""

    def __init__(self, pointer: int) -> None:
        self.pointer: int | None = pointer
        self._process = os.getpid()

    def close(self) -> None:
        """Frees the handle; using it afterwards is an error."""
        pointer, self.pointer = self.pointer, None
        # In a process that was forked off, a session's threads do not exist, and would be waited for.
        if pointer and self.is_of_this_process():
            library.zkapex_free(pointer)

    def is_of_this_process(self) -> bool:
        """Whether it was made here, and not before a fork."""
        return self._process == os.getpid()

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.close()


class Session(Handle):
    """How steps work: with how many threads, how much memory, and who hears of progress.

    ``progress`` is a function of a stage's name, the parts that are done, and all of them. An exception that it raises
    cancels the step and comes out of the call. ``progress=True`` shows bars of tqdm, where that is installed.

    >>> with zkapex.Session(threads=2, progress=print) as session:
    ...     client.unlearn("psi.zka", "unlearned.safetensors", "proof.zka", session=session)

    One session is used by one thread at a time. Without one, each thread has its own.
    """

    def __init__(self, threads: int = 0, memory: int = 0, cache: PathLike | None = None,
                 progress: Progress | bool | None = None) -> None:
        if progress is True:
            from ._bars import bars

            progress = bars()
        self._progress = progress or None
        self._raised: BaseException | None = None
        self._function = ProgressFunction(self._hear) if self._progress else ProgressFunction()
        pointer = c_void_p()
        given = options(SessionOptions, threads=threads, memory=memory, cache=cache)
        given.progress = self._function
        super().__init__(0)
        if library.zkapex_session_new(given, pointer) != OK:
            raise Error(library.zkapex_error_text(None).decode())
        self.pointer = pointer.value

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _hear(self, _: object, stage: bytes, done: int, total: int) -> int:
        try:
            self._progress(stage.decode(), done, total)  # type: ignore[misc]
        except BaseException as raised:  # must not cross the library; raised again behind it
            self._raised = raised
            return 1
        return 0

    def call(self, step: str, *arguments: Any) -> tuple[bool, dict[str, Any]]:
        """Whether the step was accepted, and its report."""
        if not self.is_of_this_process():
            raise Error("the session was made before this process was forked off: make a new one")
        self._raised = None
        status = getattr(library, f"zkapex_{step}")(self.pointer, *arguments)
        if self._raised is not None:
            raise self._raised
        if status == BUSY:
            raise Error("the session is in use by another thread")
        if status in (ERROR, CANCELLED):
            said = library.zkapex_error_text(self.pointer).decode()
            raise Cancelled(said) if status == CANCELLED else Error(said)
        return status == OK, json.loads(library.zkapex_report(self.pointer))


_of_thread = threading.local()


def session_or_default(session: Session | None) -> Session:
    """The session that was given, or this thread's own."""
    if session is not None:
        return session
    if not hasattr(_of_thread, "session") or not _of_thread.session.is_of_this_process():
        _of_thread.session = Session()
    return _of_thread.session
