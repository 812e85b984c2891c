// What the catalogue's services make is loaded with it.
@_exported public import Lade
