// swift-tools-version: 6.3
import PackageDescription

// The traits of Lade that Benchmarks/bridges measures; none for all others, so that nothing is fetched.
let traits = (Context.environment["LADE_TRAITS"] ?? "").split(separator: ",").map(String.init)

// A package of its own, so that packages that depend on Lade do not build it. See README.md.
let package = Package(
    name: "lade-benchmarks",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "CountAllocations", type: .dynamic, targets: ["CAllocations"])
    ],
    dependencies: [
        .package(name: "lade", path: "..", traits: Set(traits.map { .trait(name: $0) }))
    ],
    targets: [
        .systemLibrary(
            name: "CLibcurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]
        ),
        // The limit: libcurl in C, without a library of ours.
        .executableTarget(name: "CLimit", dependencies: ["CLibcurl"]),
        .systemLibrary(
            name: "CLibSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        // The limit of new TLS connections: OpenSSL in C, for Benchmarks/handshakes.
        .executableTarget(name: "CHandshakes", dependencies: ["CLibSSL"]),
        // Preloaded into a peer, counts its allocations.
        .target(name: "CAllocations"),
        // What the Swift peers share: the loop, the clock, the line of results.
        .target(name: "Measuring"),
        .executableTarget(name: "URLSessionPeer", dependencies: ["Measuring"]),
        // URLSession with a URLCache, for Benchmarks/cache.
        .executableTarget(name: "URLCachePeer"),
        .executableTarget(
            name: "LadePeer",
            dependencies: [
                "Measuring", .product(name: "Lade", package: "lade"), .product(name: "LadeCurl", package: "lade"),
                .product(name: "LadeTraffic", package: "lade"), .product(name: "LadeWire", package: "lade"),
            ]
        ),
        // URLSession and Lade reading one page after the other, for Benchmarks/pages.
        .target(name: "PageModels"),
        .executableTarget(name: "PagesPeer", dependencies: ["PageModels"]),
        .executableTarget(
            name: "DecodedPages",
            dependencies: ["PageModels", .product(name: "Lade", package: "lade")]
        ),
        // How fast lists are cut into lines.
        .executableTarget(name: "SplitterSpeed", dependencies: [.product(name: "LadeJSON", package: "lade")]),
        // Decoding compared with Foundation's, for Benchmarks/json.
        .executableTarget(name: "JSONSpeed", dependencies: [.product(name: "LadeJSON", package: "lade")]),
        // The catalogue's models and content models, for Benchmarks/catalogue.
        .executableTarget(
            name: "CatalogueSpeed",
            dependencies: [
                .product(name: "LadeCatalogue", package: "lade"), .product(name: "LadeContent", package: "lade"),
                .product(name: "LadeJSON", package: "lade"),
            ]
        ),
        // What the interceptors of the chain cost when they have nothing to do.
        .executableTarget(
            name: "PoliciesCost",
            dependencies: [
                .product(name: "Lade", package: "lade"), .product(name: "LadeCore", package: "lade"),
                .product(name: "LadePolicies", package: "lade"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

if !traits.isEmpty {
    // The cost of the observers of LadeLogging, LadeMetrics and LadeTracing.
    package.dependencies += [
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
    ]
    package.targets.append(
        .executableTarget(
            name: "BridgesCost",
            dependencies: [
                "Measuring", .product(name: "Lade", package: "lade"), .product(name: "LadeLogging", package: "lade"),
                .product(name: "LadeMetrics", package: "lade"), .product(name: "LadeTracing", package: "lade"),
                .product(name: "LadeWire", package: "lade"), .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ]
        )
    )
}

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ]
}
