"""Refuses files that are no workbook, or that would unpack to more than is sane, before anything is read."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from dashboard.vocabulary import Refused

UNPACKED_LIMIT = 300_000_000
_MEMBERS_LIMIT = 5_000
_CHUNK = 1 << 18
# What a damaged archive makes the standard library raise.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ArithmeticError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    ValueError,
)
_OLE = bytes.fromhex("D0CF11E0A1B11AE1")


def open_workbook_zip(path: Path) -> zipfile.ZipFile:
    """Open an .xlsx file whose members were counted while unpacking them piece by piece.

    The sizes that the file states of itself are read first, but not believed: each member is unpacked
    in pieces, thrown away and counted, so that a file that lies is refused as soon as it exceeds the limit.

    Raises
    ------
    Refused
        If the file is empty, encrypted, of another format, damaged, or unpacks to more than 300 MB.
    """
    _refuse_other_formats(path)
    archive = None
    try:
        archive = zipfile.ZipFile(path)
        _refuse_members(path, archive)
        with path.open("rb") as file:
            _count_unpacked(path, archive, file)
    except BaseException as error:
        if archive is not None:
            archive.close()
        if isinstance(error, DAMAGE) and not isinstance(error, Refused):
            raise Refused(f"{path.name} is damaged: it cannot be opened as a workbook ({error}).") from error
        raise
    return archive


def _refuse_other_formats(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(8)
        if not head:
            raise Refused(f"{path.name} is empty (0 bytes); a workbook (.xlsx) is expected.")
        if head == _OLE:
            marker = "EncryptedPackage".encode("utf-16-le")
            if _contains(file, marker):
                raise Refused(f"{path.name} is encrypted with a password. Open it, remove the password, save it again.")
            raise Refused(f"{path.name} is a workbook of the old .xls format. Save it as .xlsx and import that.")
    if head[:2] != b"PK":
        looks = "a web page" if head.lstrip()[:1] == b"<" else "something else"
        raise Refused(f"{path.name} is no workbook: an .xlsx file is a zip archive, and this is {looks}.")


def _contains(file: BinaryIO, marker: bytes) -> bool:
    tail = b""
    for _ in range(4096):  # at most 1 GB is looked at
        piece = file.read(_CHUNK)
        if not piece:
            return False
        if marker in tail + piece:
            return True
        tail = piece[-len(marker) :]
    return False


def _refuse_members(path: Path, archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    names = {member.filename.lower() for member in members}
    if len(members) > _MEMBERS_LIMIT:
        raise Refused(f"{path.name} holds {len(members)} files inside; no workbook has so many.")
    if any(member.flag_bits & 0x1 for member in members):
        raise Refused(f"{path.name} is encrypted with a password. Unpack it or save it without one.")
    if any(name.endswith("workbook.bin") for name in names):
        raise Refused(f"{path.name} is a binary workbook (.xlsb). Save it as .xlsx and import that.")
    if "mimetype" in names and any(name.endswith("content.xml") for name in names):
        raise Refused(f"{path.name} is an OpenDocument file (.ods). Save it as .xlsx and import that.")
    stated = sum(member.file_size for member in members)
    if stated > UNPACKED_LIMIT:
        raise _too_large(path, f"{stated / 1e6:,.0f} MB")
    other = {m.compress_type for m in members} - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
    if other:
        raise Refused(f"{path.name} is packed in a way that workbooks do not use (zip method {min(other)}).")


def _too_large(path: Path, size: str) -> Refused:
    return Refused(
        f"{path.name} unpacks to {size}; the limit is {UNPACKED_LIMIT / 1e6:.0f} MB. "
        "The released data is about 1 % of that, so this is probably not the file you mean."
    )


def _count_unpacked(path: Path, archive: zipfile.ZipFile, file: BinaryIO) -> None:
    total = 0
    for member in archive.infolist():
        file.seek(member.header_offset)
        header = file.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise Refused(f"{path.name} is damaged: {member.filename} is not where its directory says.")
        name_length, extra_length = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
        file.seek(name_length + extra_length, 1)
        total += _unpacked_size(path, member, file, UNPACKED_LIMIT - total)


def _unpacked_size(path: Path, member: zipfile.ZipInfo, file: BinaryIO, limit: int) -> int:
    if member.compress_type == zipfile.ZIP_STORED:
        return member.compress_size
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    left, size = member.compress_size, 0
    while left > 0 and not unpacker.eof:
        piece = file.read(min(_CHUNK, left))
        if not piece:
            raise Refused(f"{path.name} is damaged or cut short: {member.filename} ends too early.")
        left -= len(piece)
        while piece:
            try:
                size += len(unpacker.decompress(piece, _CHUNK * 4))
            except zlib.error as error:
                raise Refused(f"{path.name} is damaged: {member.filename} cannot be unpacked.") from error
            if size > limit:
                raise _too_large(path, f"more than {UNPACKED_LIMIT / 1e6:.0f} MB")
            piece = unpacker.unconsumed_tail
    return size
