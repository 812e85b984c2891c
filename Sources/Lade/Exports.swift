@_exported public import LadeCore
@_exported public import LadeJSON
@_exported public import LadePolicies
