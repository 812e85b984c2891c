@_exported public import LadeCore
