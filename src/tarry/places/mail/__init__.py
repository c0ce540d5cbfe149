"""Mail by SMTP."""

from tarry.keep.outlet import OutletKind

__all__ = ["OUTLET"]

OUTLET = OutletKind(
    name="mail",
    outlet="tarry.places.mail.outlet:Mail",
    delivery="at least once",
    words="a mail server",
    at_home=True,
    what_of=lambda options: f"{options['subject'] or '(no subject)'} to {', '.join(options['to'])}",
)
