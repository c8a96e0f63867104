"""What the operating system refused, as sentences that every language can say.

Python hands over its English, or the server's own language. The name and the number of the error
stay: whoever runs the server looks for these.
"""

import errno
from collections.abc import Callable

from engine.errors import Sentence

REASONS: dict[int, Callable[[str], Sentence]] = {
    errno.ENOSPC: lambda no: Sentence.of("system.full", "the disk is full ({no})", no=no),
    errno.EDQUOT: lambda no: Sentence.of(
        "system.quota", "the share of the disk is used up ({no})", no=no
    ),
    errno.EFBIG: lambda no: Sentence.of(
        "system.file_large", "the file would be larger than allowed ({no})", no=no
    ),
    errno.EACCES: lambda no: Sentence.of("system.denied", "that is not permitted ({no})", no=no),
    errno.EPERM: lambda no: Sentence.of("system.forbidden", "that is forbidden ({no})", no=no),
    errno.EROFS: lambda no: Sentence.of(
        "system.read_only", "the disk can only be read ({no})", no=no
    ),
    errno.ENOENT: lambda no: Sentence.of("system.missing", "it is not there ({no})", no=no),
    errno.EEXIST: lambda no: Sentence.of("system.exists", "it is there already ({no})", no=no),
    errno.ENOTDIR: lambda no: Sentence.of(
        "system.no_folder", "a file is where a folder should be ({no})", no=no
    ),
    errno.EISDIR: lambda no: Sentence.of(
        "system.folder", "a folder is where a file should be ({no})", no=no
    ),
    errno.EMFILE: lambda no: Sentence.of(
        "system.files", "this server has too many files open ({no})", no=no
    ),
    errno.ENFILE: lambda no: Sentence.of(
        "system.all_files", "the machine has too many files open ({no})", no=no
    ),
    errno.EIO: lambda no: Sentence.of("system.broken", "the disk reports a failure ({no})", no=no),
    errno.ENOMEM: lambda no: Sentence.of("system.memory", "the memory is used up ({no})", no=no),
    errno.ENAMETOOLONG: lambda no: Sentence.of("system.name", "the name is too long ({no})", no=no),
}


def refusal_of(error: OSError) -> Sentence:
    """For the end of a sentence. No path is in it: a visitor may read it."""
    number = error.errno or 0
    if number == 0:
        return Sentence.of("system.unknown", "the system says {what}", what=type(error).__name__)
    no = f"{errno.errorcode.get(number, type(error).__name__)}, errno {number}"
    if number in REASONS:
        return REASONS[number](no)
    return Sentence.of("system.other", "the system refuses it ({no})", no=no)
