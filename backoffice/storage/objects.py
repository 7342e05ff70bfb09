"""Objects in S3. Every key is checked against the open tenant; every call is bounded in time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError
from django.conf import settings

from backoffice.storage import keys

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PART = 8 * 1024 * 1024
# Parts are read from the file as they are sent, so memory is a few parts whatever the size.
TRANSFER = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, max_concurrency=4)


def put(*, key: str, data: bytes, content_type: str = "application/octet-stream") -> None:
    """Store a small object."""
    client().put_object(Bucket=settings.S3_BUCKET, Key=keys.check(key), Body=data, ContentType=content_type)


def put_file(*, key: str, path: Path, content_type: str) -> None:
    """Store a file in parts of 8 MB. An upload that fails is aborted, and nothing lies under the key."""
    client().upload_file(
        str(path), settings.S3_BUCKET, keys.check(key), ExtraArgs={"ContentType": content_type}, Config=TRANSFER
    )


def get(*, key: str) -> bytes:
    """Read a whole small object; KeyError when there is none."""
    return b"".join(open_stream(key=key))


def open_stream(*, key: str, chunk: int = 256 * 1024) -> Iterator[bytes]:
    """Open the object and return its chunks; KeyError at once when there is none."""
    try:
        body = client().get_object(Bucket=settings.S3_BUCKET, Key=keys.check(key))["Body"]
    except ClientError as error:
        if _is_missing(error):
            raise KeyError(key) from None
        raise
    return body.iter_chunks(chunk)


def exists(*, key: str) -> bool:
    """Say whether the object is there."""
    try:
        client().head_object(Bucket=settings.S3_BUCKET, Key=keys.check(key))
    except ClientError as error:
        if _is_missing(error):
            return False
        raise
    return True


def delete(*, key: str) -> None:
    """Remove the object; one that is gone already is no error."""
    client().delete_object(Bucket=settings.S3_BUCKET, Key=keys.check(key))


def delete_listed(*, key: str) -> None:
    """Remove an object that a listing named, whatever it is called."""
    client().delete_object(Bucket=settings.S3_BUCKET, Key=keys.listed(key))


def delete_under(*, prefix: str, keep: str = "") -> int:
    """Remove every object under the path but `keep`, and abort unfinished uploads there; return how many went."""
    gone = 0
    for key, _changed in listing(prefix=prefix):
        if key != keep:
            delete_listed(key=key)
            gone += 1
    for upload in uploads(prefix=prefix):
        if upload.key != keep:
            abort(upload=upload)
    return gone


@dataclass(frozen=True)
class Upload:
    """An upload in parts that was begun and neither completed nor aborted."""

    key: str
    id: str
    begun: datetime


def uploads(*, prefix: str) -> Iterator[Upload]:
    """Iterate over the unfinished uploads under the path."""
    pages = (
        client().get_paginator("list_multipart_uploads").paginate(Bucket=settings.S3_BUCKET, Prefix=keys.check(prefix))
    )
    for page in pages:
        for one in page.get("Uploads", []):
            if one["Key"].startswith(prefix):
                yield Upload(one["Key"], one["UploadId"], one["Initiated"])


def abort(*, upload: Upload) -> None:
    """Give the upload's parts up."""
    client().abort_multipart_upload(Bucket=settings.S3_BUCKET, Key=keys.listed(upload.key), UploadId=upload.id)


def list_keys(*, prefix: str) -> list[str]:
    """Return the keys under the path."""
    return [key for key, _changed in listing(prefix=prefix)]


def listing(*, prefix: str) -> Iterator[tuple[str, datetime]]:
    """Iterate over the keys under the path and when each was written."""
    pages = client().get_paginator("list_objects_v2").paginate(Bucket=settings.S3_BUCKET, Prefix=keys.check(prefix))
    for page in pages:
        for item in page.get("Contents", []):
            yield item["Key"], item["LastModified"]


def client() -> S3Client:
    """Return this process's client for the storage as the product reaches it."""
    return connect(settings.S3_ENDPOINT_URL, os.getpid())


@cache
def connect(endpoint: str, process: int) -> S3Client:
    """Make a client, one an endpoint and process: sockets are not shared across a fork.

    Keys come from the usual AWS variables. Checksums beyond S3's own are asked for only where the
    protocol demands them, since not every S3 server knows them.
    """
    made: S3Client = boto3.client(
        "s3",
        endpoint_url=endpoint or None,
        region_name=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1",
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "path"},
            connect_timeout=3,
            read_timeout=20,
            retries={"mode": "standard", "max_attempts": 3},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
    return made


def _is_missing(error: ClientError) -> bool:
    return error.response.get("Error", {}).get("Code") in {"404", "NoSuchKey", "NotFound"}
