// A harvest needs the loader and the paging rules of Lade.
@_exported public import Lade
