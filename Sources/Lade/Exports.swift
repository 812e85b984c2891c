@_exported public import LadeCache
@_exported public import LadeCore
@_exported public import LadeJSON
@_exported public import LadePolicies
