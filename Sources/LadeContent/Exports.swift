// Loading content needs the types of Lade.
@_exported public import Lade
