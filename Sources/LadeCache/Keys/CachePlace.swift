/// One address in one partition and scope; all that is stored for it is invalidated together.
package struct CachePlace: Sendable, Hashable {
    /// The partition of the service.
    package let partition: String
    /// The accounts that may use a stored response.
    package let scope: CacheScope
    /// The address in normal form.
    package let address: CacheAddress

    /// Makes a place.
    package init(partition: String, scope: CacheScope, address: CacheAddress) {
        self.partition = partition
        self.scope = scope
        self.address = address
    }

    /// The same address with another scope or another address with the same scope.
    package func with(scope: CacheScope? = nil, address: CacheAddress? = nil) -> CachePlace {
        CachePlace(partition: partition, scope: scope ?? self.scope, address: address ?? self.address)
    }
}
