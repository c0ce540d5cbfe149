"""How the content of a release is told in JSON, the same by every outlet."""

import base64

__all__ = ["told_content"]


def told_content(content: bytes) -> dict[str, str]:
    """Text as `content`, and bytes that are no text, under another name, in base64.

    >>> told_content(b"I agree."), told_content(bytes([255, 0]))
    ({'content': 'I agree.'}, {'content_base64': '/wA='})
    """
    try:
        return {"content": content.decode()}
    except UnicodeDecodeError:
        return {"content_base64": base64.b64encode(content).decode()}
