@_exported public import LadeCore
@_exported public import LadePolicies
