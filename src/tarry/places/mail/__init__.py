"""Mail by SMTP."""

from tarry.keep.form import Form, FormField
from tarry.keep.outlet import OutletKind

__all__ = ["OUTLET"]

OUTLET = OutletKind(
    name="mail",
    outlet="tarry.places.mail.outlet:Mail",
    delivery="at least once",
    words="a mail server",
    at_home=True,
    what_of=lambda options: f"{options['subject'] or '(no subject)'} to {', '.join(options['to'])}",
    form=Form(
        fields=(
            FormField(name="from", required=True),
            FormField(name="to", required=True),
            FormField(name="subject"),
            FormField(name="text", kind="content", required=True),
            FormField(name="server"),
            FormField(name="password_file"),
        ),
        make="tarry.places.mail.form:make_post",
    ),
)
