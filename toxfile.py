# SPDX-License-Identifier: Apache-2.0
"""tox reads this beside tox.ini: a folder that it cannot write ends in a sentence, not in a traceback.

That of another user is the usual one: once `sudo tox`, from then on `tox`.
"""

import getpass
import tempfile
from pathlib import Path

from tox.config.sets import EnvConfigSet
from tox.plugin import impl
from tox.report import HandledError
from tox.session.state import State

LOOKS = ("list", "config", "depends")
"""Commands that need no environment; `tox -l`, `tox -av` and `tox --showconfig` are older names of them."""


@impl
def tox_add_env_config(env_conf: EnvConfigSet, state: State) -> None:
    """Try the folder of an environment that this call makes or uses."""
    if not _used(str(env_conf.name), state):
        return
    folder = Path(env_conf["env_dir"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        work = Path(state.conf.core["work_dir"])
        raise HandledError(
            f"{folder} cannot be written: {error.strerror}. If it is another user's, take it over: "
            f"sudo chown -R {getpass.getuser()} {work}; or use another folder: tox --workdir FOLDER"
        ) from None


def _used(name: str, state: State) -> bool:
    options = state.conf.options
    asked = getattr(options, "env", None)
    looks = any(getattr(options, each, False) for each in ("list_envs", "list_envs_all", "show_config"))
    if asked is None or looks or options.command in LOOKS:
        return False
    return name in (set(asked) or state.conf.core["env_list"].envs)
