// Callbacks need the types of Lade.
@_exported public import Lade
