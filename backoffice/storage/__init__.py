"""Files in object storage: each under its tenant's own path, handed over by a signed link.

The database row (`Artifact`) is authoritative for what exists, until when, and who answers for it;
the object store only holds bytes. No key outside the open tenant's path is ever read or written.
An object is written first, under a path of its run's own, and published by the transaction that
inserts its row, so that nobody is offered half a file. This package alone imports boto3.
"""

from typing import TYPE_CHECKING

from backoffice.lazy import exports

if TYPE_CHECKING:
    from backoffice.storage.downloading import Link, download, downloads
    from backoffice.storage.expiring import expire_artifact, expired, revoke_artifact, sweep_unpublished
    from backoffice.storage.keys import OutsideTenant, folder, object_key
    from backoffice.storage.objects import delete, delete_under, exists, get, list_keys, open_stream, put, put_file
    from backoffice.storage.publishing import publish
    from backoffice.storage.signing import disposition, sign, signs_links

__all__ = [
    "Link",
    "OutsideTenant",
    "delete",
    "delete_under",
    "disposition",
    "download",
    "downloads",
    "exists",
    "expire_artifact",
    "expired",
    "folder",
    "get",
    "list_keys",
    "object_key",
    "open_stream",
    "publish",
    "put",
    "put_file",
    "revoke_artifact",
    "sign",
    "signs_links",
    "sweep_unpublished",
]

__getattr__ = exports(
    __name__,
    {
        **dict.fromkeys(["Link", "download", "downloads"], "downloading"),
        **dict.fromkeys(["expire_artifact", "expired", "revoke_artifact", "sweep_unpublished"], "expiring"),
        **dict.fromkeys(["OutsideTenant", "folder", "object_key"], "keys"),
        **dict.fromkeys(
            ["delete", "delete_under", "exists", "get", "list_keys", "open_stream", "put", "put_file"], "objects"
        ),
        "publish": "publishing",
        **dict.fromkeys(["disposition", "sign", "signs_links"], "signing"),
    },
)
