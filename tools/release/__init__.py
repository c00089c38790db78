"""What a release is made of and by; run from a clone, by `PYTHONPATH=tools python -m release`.

locks      image/requirements: exact versions with checksums
notice     NOTICE: what the images contain, and its licences
registry   the digest that a tag of an image stands for
bases      the Dockerfile's bases, pinned by digest
pages      share/: the manual page, and completions for shells
ready      what has to be so before anything is published
publishing the steps, in their order
__main__   the command

None of it is installed with the gateway. docs/releases.md says how it is used.
"""
