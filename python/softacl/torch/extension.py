"""Compiles the C++ extension, once for each version of torch, torch_npu and softacl."""

import ctypes
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor

_SOURCES = pathlib.Path(__file__).parent / "kernels"
# The releases of torch and torch_npu whose internals the kernels use, and how to install them.
_SUPPORTED = "2.10"
_INSTALL = "pip install torch==2.10.0 torch_npu==2.10.0.post4"
_FLAGS = ["-std=c++17", "-O2", "-g0", "-fPIC", "-fopenmp", "-fvisibility=hidden", "-Wall", "-D_GLIBCXX_USE_CXX11_ABI=1"]


def build() -> pathlib.Path:
    """Returns the compiled extension. Compiles it if it is not in the cache."""
    check_versions()
    sources = sorted(_SOURCES.glob("*.cpp"))
    name = _key([*sources, *sorted(_SOURCES.glob("*.h"))])
    directory = _cache() / name
    built = directory / "libsoftacl_torch.so"
    if built.exists():
        return built
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "w") as lock:
        # Several processes may start at once; one compiles.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            _compile(sources, directory, built)
    return built


def check_versions() -> None:
    """Refuses a torch or torch_npu that the kernels are not written for, whose headers may compile and mean other things."""
    import torch
    import torch_npu

    found = {"torch": str(torch.__version__), "torch_npu": str(torch_npu.__version__)}
    if any(version.split(".")[:2] != _SUPPORTED.split(".") for version in found.values()):
        versions = " with ".join(f"{name} {version}" for name, version in found.items())
        raise RuntimeError(
            f"softacl: {versions} is not supported: the kernels are for torch {_SUPPORTED} with torch_npu {_SUPPORTED}; {_INSTALL}"
        )


def _compile(sources: "list[pathlib.Path]", directory: pathlib.Path, built: pathlib.Path) -> None:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise RuntimeError("softacl: computing with PyTorch needs a C++ compiler (g++), once; none was found")
    start = time.time()
    _say(f"compiling the kernels for PyTorch with {compiler} into {directory}, once (one to two minutes)")
    # Named after their contents, so that a change of one source compiles that one.
    headers = sorted(_SOURCES.glob("*.h"))
    cached = directory.parent / "objects"
    cached.mkdir(exist_ok=True)
    objects = [cached / f"{source.stem}-{_key([source, *headers])}.o" for source in sources]

    # Not in the threads below: `import torch` may be what runs this, and has locked the module.
    includes = _includes()

    def compile_one(pair: "tuple[pathlib.Path, pathlib.Path]") -> None:
        source, target = pair
        if target.exists():
            return
        begin = time.time()
        _run([compiler, *_FLAGS, *includes, "-c", str(source), "-o", f"{target}.new"])
        os.rename(f"{target}.new", target)
        _say(f"  {source.name} compiled in {time.time() - begin:.0f} s")

    with ThreadPoolExecutor(max_workers=min(len(sources), os.cpu_count() or 1)) as pool:
        list(pool.map(compile_one, zip(sources, objects)))
    fresh = built.with_suffix(".new")
    _run([compiler, "-shared", "-fopenmp", *map(str, objects), *_libraries(), "-o", str(fresh)])
    fresh.rename(built)
    _say(f"compiled in {time.time() - start:.0f} s")


def _run(command: "list[str]") -> None:
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode != 0:
        text = "\n".join(ended.stderr.splitlines()[:40])
        raise RuntimeError(f"softacl: compiling the kernels for PyTorch failed: {' '.join(command)}\n{text}")


def _includes() -> "list[str]":
    import torch
    import torch_npu

    torch_headers = pathlib.Path(torch.__file__).parent / "include"
    paths = [
        _headers(),
        torch_headers,
        torch_headers / "torch/csrc/api/include",
        # The headers of torch_npu itself. The runtime is described by those of softacl.
        pathlib.Path(torch_npu.__file__).parent / "include",
        pathlib.Path(sysconfig.get_paths()["include"]),
    ]
    return [f"-I{path}" for path in paths]


def _libraries() -> "list[str]":
    import torch
    import torch_npu

    directories = [pathlib.Path(module.__file__).parent / "lib" for module in (torch, torch_npu)]
    links = [f"-L{directory}" for directory in directories]
    return [*links, "-ltorch", "-ltorch_cpu", "-lc10", "-ltorch_npu", str(_runtime())]


def _runtime() -> pathlib.Path:
    """Returns the path of the libascendcl.so that this process has loaded."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if "libascendcl" in path:
                return pathlib.Path(path)
    raise RuntimeError("softacl: libascendcl.so is not loaded")


def _headers() -> pathlib.Path:
    """Returns the directory of softacl's own headers."""
    import softacl

    home = os.environ.get("ASCEND_HOME_PATH", "")
    for candidate in (pathlib.Path(softacl.include_path()), pathlib.Path(home) / "include"):
        if (candidate / "softacl/softacl.h").exists():
            return candidate
    raise RuntimeError("softacl: the header softacl/softacl.h was not found")


def _key(files: "list[pathlib.Path]") -> str:
    import torch
    import torch_npu

    library = ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    library.softaclVersion.restype = ctypes.c_char_p
    contents = hashlib.sha256()
    for path in files:
        contents.update(path.read_bytes())
    versions = f"torch{torch.__version__}-torch_npu{torch_npu.__version__}-softacl{library.softaclVersion().decode()}"
    return f"{versions}-cp{sys.version_info[0]}{sys.version_info[1]}-{contents.hexdigest()[:12]}".replace("/", "_")


def _cache() -> pathlib.Path:
    given = os.environ.get("SOFTACL_TORCH_CACHE")
    if given:
        return pathlib.Path(given)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "softacl"


def _say(text: str) -> None:
    print(f"softacl: {text}", file=sys.stderr, flush=True)
