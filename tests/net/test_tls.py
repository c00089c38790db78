"""Files that cannot be used are problems of the key that names them; handshakes are in interop."""

import pathlib

import pytest

from gateway.errors import ConfigurationError
from gateway.net.tls import tls_context

# A self-signed certificate and its key would be a secret in the tree: only failures are shown here.


@pytest.mark.parametrize(
    "text", [None, "no pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_a_certificate_that_cannot_be_used(text: str | None, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "certificate.pem"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        tls_context(file, tmp_path / "key.pem", None, require_client_certificate=False)
    ((path, problem),) = caught.value.problems
    assert path == "tls.certificate"
    assert str(file) in problem
