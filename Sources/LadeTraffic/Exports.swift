// Programs that record or replay traffic use the types of Lade.
@_exported public import Lade
