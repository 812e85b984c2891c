// Who loads content needs what it is loaded with.
@_exported public import Lade
