// Importing this module also imports `Lade`, whose loaders load the services.
@_exported public import Lade
