"""Mail by SMTP."""

from tarry.keep.outlet import OutletKind

__all__ = ["OUTLET"]

OUTLET = OutletKind(
    name="mail",
    delivery="at least once",
    words="a mail server",
    for_home="tarry.places.mail.outlet:make_own",
    what_of=lambda options: f"{options['subject'] or '(no subject)'} to {', '.join(options['to'])}",
)
