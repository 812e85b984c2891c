// swift-tools-version: 6.3
import PackageDescription

// The transports with sockets of their own wait with epoll, so they exist only on Linux. On other systems nothing depends on
// them, and URLSession is used. LADE_CURL=1 is for cross-compiling for Linux, LADE_CURL=0 for Scripts/apple.
#if os(Linux)
    let isLinux = true
#else
    let isLinux = false
#endif
let hasCurl = Context.environment["LADE_CURL"].map { $0 == "1" } ?? isLinux
let redis: [Target.Dependency] =
    hasCurl ? [.target(name: "LadeRedis", condition: .when(platforms: [.linux]))] : []
let wire: [Target.Dependency] = hasCurl ? [.target(name: "LadeWire", condition: .when(platforms: [.linux]))] : []

/// The product of an outside package, which is needed only with a trait.
func outside(_ product: String, _ package: String, _ trait: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: [trait]))
}

// The floors of Documentation/Architecture.md, bottom up: a target imports only targets of lower floors.
let package = Package(
    name: "lade",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Lade", targets: ["Lade"]),
        .library(name: "LadeJSON", targets: ["LadeJSON"]),
        .library(name: "LadeCore", targets: ["LadeCore"]),
        .library(name: "LadeFields", targets: ["LadeFields"]),
        .library(name: "LadeURLSession", targets: ["LadeURLSession"]),
        .library(name: "LadePolicies", targets: ["LadePolicies"]),
        .library(name: "LadeCache", targets: ["LadeCache"]),
        .library(name: "LadeFoundation", targets: ["LadeFoundation"]),
        .library(name: "LadeCallbacks", targets: ["LadeCallbacks"]),
        .library(name: "LadeContent", targets: ["LadeContent"]),
        .library(name: "LadeCacheSQLite", targets: ["LadeCacheSQLite"]),
        .library(name: "LadeCatalogue", targets: ["LadeCatalogue"]),
        .library(name: "LadeHarvest", targets: ["LadeHarvest"]),
        .library(name: "LadeImages", targets: ["LadeImages"]),
        .library(name: "LadeTraffic", targets: ["LadeTraffic"]),
        .library(name: "LadeTesting", targets: ["LadeTesting"]),
        .library(name: "LadeConformance", targets: ["LadeConformance"]),
        .library(name: "LadeCatalogueServer", targets: ["LadeCatalogueServer"]),
        .executable(name: "lade", targets: ["LadeCommand"]),
        // Each of these is empty without its trait, and says so.
        .library(name: "LadeHTTPTypes", targets: ["LadeHTTPTypes"]),
        .library(name: "LadeLogging", targets: ["LadeLogging"]),
        .library(name: "LadeMetrics", targets: ["LadeMetrics"]),
        .library(name: "LadeOpenAPI", targets: ["LadeOpenAPI"]),
        .library(name: "LadeTracing", targets: ["LadeTracing"]),
    ],
    // A package whose trait is off is neither resolved nor fetched. Nothing is on by default.
    traits: [
        .trait(name: "HTTPTypes", description: "LadeHTTPTypes: the types of swift-http-types"),
        .trait(
            name: "OpenAPI",
            description: "LadeOpenAPI: a transport for clients of swift-openapi-generator",
            enabledTraits: ["HTTPTypes"]
        ),
        .trait(name: "SwiftLog", description: "LadeLogging: calls in a Logger of swift-log"),
        .trait(name: "SwiftMetrics", description: "LadeMetrics: counters and timers of swift-metrics"),
        .trait(name: "SwiftTracing", description: "LadeTracing: spans of swift-distributed-tracing"),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-openapi-runtime.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.2.0"),
    ],
    targets: [
        // Floor 0: system libraries.
        // The image codecs; ImageIO replaces them on Apple platforms.
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg62-turbo-dev"])]),
        .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"])]),
        // The Public Suffix List, for cookies.
        .systemLibrary(name: "CPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
        // International names of hosts; Foundation has them on Apple platforms.
        .systemLibrary(name: "CIDN2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),
        // The store of the cache on disk; the system's own on Apple platforms.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // Whole decodes in C, because these libraries report errors by longjmp.
        .target(
            name: "CImageCodecs",
            dependencies: [
                .target(name: "CPNG", condition: .when(platforms: [.linux])),
                .target(name: "CJPEG", condition: .when(platforms: [.linux])),
                .target(name: "CWebP", condition: .when(platforms: [.linux])),
            ]
        ),
        // Floor 1.
        .target(name: "LadeJSON"),
        .target(name: "LadeCore", dependencies: [.target(name: "CIDN2", condition: .when(platforms: [.linux]))]),
        // Floor 2: values of header fields, which most apps do without.
        .target(name: "LadeFields", dependencies: ["LadeCore"]),
        // Floor 3: transports, LadeWire and LadeCurl among them; siblings never import each other.
        .target(name: "LadeURLSession", dependencies: ["LadeCore"]),
        // One folder per interceptor.
        .target(
            name: "LadePolicies",
            dependencies: ["LadeCore", "LadeFields", .target(name: "CPSL", condition: .when(platforms: [.linux]))]
        ),
        // RFC 9111: rules without input or output, stores behind one protocol, the store in memory.
        .target(name: "LadeCache", dependencies: ["LadeCore", "LadeFields"]),
        // Floor 4.
        // The cache's store on disk; apart so that other programs do not link SQLite.
        .target(name: "LadeCacheSQLite", dependencies: ["CSQLite", "LadeCache", "LadeCore"]),
        .target(
            name: "Lade",
            dependencies: [
                "LadeCache",
                "LadeCore",
                "LadeFields",
                "LadeJSON",
                "LadePolicies",
                // On Linux this target would add the whole of Foundation to every program: 57 MB when linked
                // statically.
                .target(
                    name: "LadeURLSession",
                    condition: .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS])
                ),
            ] + wire
        ),
        // Errors in the form of Foundation; separate because it needs the whole of Foundation.
        .target(name: "LadeFoundation", dependencies: ["Lade"]),
        // Floor 5.
        // Delegates, closures, handles and queues, which new code does without.
        .target(name: "LadeCallbacks", dependencies: ["Lade", "LadeCore"]),
        .target(name: "LadeContent", dependencies: ["Lade", "LadeCore"]),
        .target(name: "LadeCatalogue", dependencies: ["Lade", "LadeCore", "LadeJSON"]),
        // Whole paged lists into files. Apps that show lists do without it.
        .target(name: "LadeHarvest", dependencies: ["Lade", "LadeFields"]),
        // A product of its own: only programs that decode images link the codecs.
        .target(
            name: "LadeImages",
            dependencies: ["Lade", .target(name: "CImageCodecs", condition: .when(platforms: [.linux]))]
        ),
        // Recordings of traffic. Programs that do not record do without it.
        .target(name: "LadeTraffic", dependencies: ["Lade", "LadeCore", "LadeJSON"]),
        // Each is a product of its own with a trait, so that no other program builds or fetches the outside package.
        .target(name: "LadeHTTPTypes", dependencies: ["Lade", outside("HTTPTypes", "swift-http-types", "HTTPTypes")]),
        .target(name: "LadeLogging", dependencies: ["Lade", outside("Logging", "swift-log", "SwiftLog")]),
        .target(name: "LadeMetrics", dependencies: ["Lade", outside("CoreMetrics", "swift-metrics", "SwiftMetrics")]),
        .target(
            name: "LadeTracing",
            dependencies: ["Lade", outside("Tracing", "swift-distributed-tracing", "SwiftTracing")]
        ),
        // Floor 6.
        // A separate product: virtual time, scripted transport and client, loopback server, replay of recordings.
        .target(name: "LadeTesting", dependencies: ["Lade", "LadeCore", "LadeTraffic"]),
        .target(
            name: "LadeOpenAPI",
            dependencies: [
                "Lade", "LadeHTTPTypes", outside("HTTPTypes", "swift-http-types", "HTTPTypes"),
                outside("OpenAPIRuntime", "swift-openapi-runtime", "OpenAPI"),
            ]
        ),
        // Floor 7.
        // The conformance suite for transports; programs that only need doubles do without it.
        .target(name: "LadeConformance", dependencies: ["LadeCore", "LadeTesting"]),
        // The local catalogue, for `lade serve`, tests and examples.
        .target(name: "LadeCatalogueServer", dependencies: ["LadeCore", "LadeTesting"]),
        // Top.
        .executableTarget(
            name: "LadeCommand",
            dependencies: [
                "Lade", "LadeCacheSQLite", "LadeCatalogue", "LadeCatalogueServer", "LadeFields", "LadeHarvest",
                "LadeTesting", "LadeTraffic",
            ] + wire + redis
        ),
        // Not part of a product: only this package builds it.
        .executableTarget(
            name: "CatalogueBrowser",
            dependencies: ["Lade", "LadeCatalogue", "LadeContent"],
            path: "Examples/CatalogueBrowser/Sources"
        ),
        .testTarget(
            name: "CatalogueBrowserTests",
            dependencies: ["CatalogueBrowser", "LadeCatalogueServer", "LadeTesting"],
            path: "Examples/CatalogueBrowser/Tests"
        ),
        .testTarget(name: "LadeJSONTests", dependencies: ["LadeJSON"]),
        .testTarget(name: "LadeCoreTests", dependencies: ["LadeCore", "LadeFields", "LadeTesting"]),
        .target(name: "CHangingResolver", path: "Tests/CHangingResolver"),
        .testTarget(
            name: "LadeURLSessionTests",
            dependencies: ["CHangingResolver", "LadeConformance", "LadeURLSession", "LadeTesting"]
        ),
        .testTarget(name: "LadeTestingTests", dependencies: ["Lade", "LadeTesting"]),
        .testTarget(
            name: "LadeCatalogueServerTests",
            dependencies: ["LadeCallbacks", "LadeCatalogue", "LadeCatalogueServer", "LadeTesting"]
        ),
        .testTarget(
            name: "LadePoliciesTests",
            dependencies: ["LadeCallbacks", "LadeConformance", "LadeFields", "LadePolicies", "LadeTesting"] + wire
        ),
        // What every store of the cache must do.
        .target(
            name: "CacheStoreConformance",
            dependencies: ["LadeCache", "LadeCore", "SharedDoubles"],
            path: "Tests/CacheStoreConformance"
        ),
        .testTarget(
            name: "LadeCacheTests",
            dependencies: [
                "CacheStoreConformance", "Lade", "LadeCache", "LadeCore", "LadeFields",
                "LadeTesting", "SharedDoubles",
            ]
        ),
        // Uses a store on disk in a process that a test can kill.
        .executableTarget(
            name: "CacheProbe",
            dependencies: ["Lade", "LadeCache", "LadeCacheSQLite", "LadeCore"] + (hasCurl ? ["CProcess"] : []),
            path: "Tests/CacheProbe"
        ),
        .testTarget(
            name: "LadeCacheSQLiteTests",
            dependencies: [
                "CacheProbe", "CacheStoreConformance", "CSQLite", "Lade", "LadeCache", "LadeCacheSQLite", "LadeCommand",
                "LadeTesting", "SharedDoubles",
            ]
        ),
        // Harvests in a process that a test can kill.
        .executableTarget(name: "Probe", dependencies: ["LadeHarvest"], path: "Tests/Probe"),
        // Doubles that several test targets use.
        .target(name: "SharedDoubles", dependencies: ["Lade", "LadeTesting"], path: "Tests/SharedDoubles"),
        .testTarget(
            name: "LadeTests",
            dependencies: ["Lade", "LadeCallbacks", "LadeTesting", "SharedDoubles"],
            exclude: ["Simulation/RecordedRuns.txt"]
        ),
        .testTarget(
            name: "LadeTrafficTests",
            dependencies: ["LadeTesting", "LadeTraffic", "SharedDoubles"],
            exclude: ["Recordings"]
        ),
        .testTarget(
            name: "LadeHarvestTests",
            dependencies: ["Probe", "LadeHarvest", "LadeTesting", "SharedDoubles"]
        ),
        .target(
            name: "CImageSamples",
            dependencies: [
                .target(name: "CPNG", condition: .when(platforms: [.linux])),
                .target(name: "CJPEG", condition: .when(platforms: [.linux])),
                .target(name: "CWebP", condition: .when(platforms: [.linux])),
            ],
            path: "Tests/CImageSamples"
        ),
        // The code in the articles and in documentation comments.
        .testTarget(
            name: "LadeDocumentationTests",
            dependencies: [
                "Lade", "LadeCache", "LadeCacheSQLite", "LadeCallbacks", "LadeCatalogue", "LadeCatalogueServer",
                "LadeConformance", "LadeContent", "LadeFields", "LadeHarvest", "LadeImages", "LadeJSON",
                "LadePolicies", "LadeTesting", "LadeTraffic", "LadeURLSession",
                "SharedDoubles",
            ] + wire + redis
        ),
        .testTarget(
            name: "LadeImagesTests",
            dependencies: ["CImageSamples", "LadeImages", "LadeTesting", "SharedDoubles"]
        ),
        // Tests of the products with a trait; a suite whose trait is off is left out.
        .testTarget(
            name: "LadeBridgesTests",
            dependencies: [
                "Lade", "LadeCatalogueServer", "LadeConformance", "LadeHTTPTypes", "LadeLogging", "LadeMetrics",
                "LadeOpenAPI", "LadeTesting", "LadeTracing", "SharedDoubles",
                outside("HTTPTypes", "swift-http-types", "HTTPTypes"),
                outside("InMemoryLogging", "swift-log", "SwiftLog"), outside("Logging", "swift-log", "SwiftLog"),
                outside("InMemoryTracing", "swift-distributed-tracing", "SwiftTracing"),
                outside("CoreMetrics", "swift-metrics", "SwiftMetrics"),
                outside("MetricsTestKit", "swift-metrics", "SwiftMetrics"),
                outside("OpenAPIRuntime", "swift-openapi-runtime", "OpenAPI"),
                outside("Tracing", "swift-distributed-tracing", "SwiftTracing"),
            ]
        ),
        .testTarget(name: "LadeFoundationTests", dependencies: ["LadeFoundation", "LadeTesting", "SharedDoubles"]),
        .testTarget(name: "LadeCallbacksTests", dependencies: ["LadeCallbacks", "LadeTesting", "SharedDoubles"]),
        .testTarget(
            name: "LadeContentTests",
            dependencies: ["LadeCallbacks", "LadeContent", "LadeTesting", "SharedDoubles"]
        ),
        // Its default isolation is the main actor; see below.
        .testTarget(name: "LadeMainActorTests", dependencies: ["LadeCallbacks", "LadeContent", "LadeTesting"]),
        .testTarget(
            name: "LadeCatalogueTests",
            dependencies: ["LadeCallbacks", "LadeCatalogue", "LadeContent", "LadeTesting", "SharedDoubles"]
        ),
        .testTarget(
            name: "LadeCommandTests",
            dependencies: [
                "Lade", "LadeCatalogue", "LadeCatalogueServer", "LadeCommand", "LadeHarvest", "LadeTesting",
                "LadeTraffic", "SharedDoubles",
            ],
            exclude: ["Help/Golden"]
        ),
    ],
    swiftLanguageModes: [.v6]
)

if hasCurl {
    package.products.append(.library(name: "LadeCurl", targets: ["LadeCurl"]))
    package.products.append(.library(name: "LadeWire", targets: ["LadeWire"]))
    package.products.append(.library(name: "LadeRedis", targets: ["LadeRedis"]))
    package.targets += [
        // Floor 0.
        .systemLibrary(
            name: "CCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]
        ),
        // The content codings that the transports below decode.
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(
            name: "CBrotli",
            pkgConfig: "libbrotlidec",
            providers: [.apt(["libbrotli-dev"]), .brew(["brotli"])]
        ),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
        // The framing of HTTP/2 and its header compression, for LadeWire.
        .systemLibrary(
            name: "CNghttp2",
            pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"]), .brew(["libnghttp2"])]
        ),
        // TLS for LadeWire.
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        // Floor 1: sockets, timers, name look-ups and the bytes of TLS in C, for LadeWire.
        .target(name: "CWire", dependencies: ["COpenSSL"]),
        // Floor 2: what transports share that own their sockets.
        .target(name: "LadeExchange", dependencies: ["CBrotli", "CZlib", "CZstd", "LadeCore"]),
        // Floor 3.
        .target(name: "LadeCurl", dependencies: ["CCurl", "LadeCore", "LadeExchange"]),
        .target(name: "LadeWire", dependencies: ["CNghttp2", "COpenSSL", "CWire", "LadeCore", "LadeExchange"]),
        // Floor 5: limits that processes share over a Redis or Valkey server; only programs that do so link it.
        .target(name: "LadeRedis", dependencies: ["Lade", "LadeCore", "LadePolicies", "LadeWire"]),
        .testTarget(
            name: "LadeRedisTests",
            dependencies: [
                "Lade", "LadeCatalogueServer", "LadeCore", "LadePolicies", "LadeRedis", "LadeTesting", "LadeWire",
                "SharedDoubles",
            ]
        ),
        // Doubles of the tests of transports.
        .target(name: "TransportDoubles", dependencies: ["CZlib", "LadeCore"], path: "Tests/TransportDoubles"),
        .testTarget(
            name: "LadeExchangeTests",
            dependencies: ["LadeConformance", "LadeCurl", "LadeExchange", "LadeTesting", "TransportDoubles"]
        ),
        .testTarget(
            name: "LadeCurlTests",
            dependencies: [
                "CCurl", "CHangingResolver", "LadeConformance", "LadeCurl", "LadeExchange", "LadeTesting",
                "TransportDoubles",
            ]
        ),
        // Forks and the size of the heap, for tests.
        .target(name: "CProcess", path: "Tests/CProcess"),
        .testTarget(
            name: "LadeWireTests",
            dependencies: [
                "CHangingResolver", "CNghttp2", "COpenSSL", "CProcess", "CWire", "LadeConformance", "LadeCurl",
                "LadeExchange", "LadeTesting", "LadeWire", "SharedDoubles", "TransportDoubles",
            ]
        ),
        // The policies on LadeWire, and harvests, against real servers.
        .testTarget(
            name: "LadePeerTests",
            dependencies: ["Lade", "LadeConformance", "LadeHarvest", "LadePolicies", "LadeTesting", "LadeWire"]
        ),
    ]
}

// Scripts/sanitize builds a part of the package: LADE_ONLY="LadeCurlTests LadeTestingTests" leaves these targets and
// what they depend on.
if let only = Context.environment["LADE_ONLY"] {
    var wanted: Set<String> = []
    var names = only.split(separator: " ").map(String.init)
    while let name = names.popLast() {
        guard wanted.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else {
            continue
        }
        for dependency in target.dependencies {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): names.append(name)
            default: break
            }
        }
    }
    // The tests of the command start its product.
    package.products.removeAll { product in
        guard let program = product as? Product.Executable else { return true }
        return !program.targets.allSatisfy(wanted.contains)
    }
    package.targets.removeAll { !wanted.contains($0.name) }
}

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
    ]
    if target.name == "LadeMainActorTests" { target.swiftSettings?.append(.defaultIsolation(MainActor.self)) }
}

// Scripts/release: a smaller command, from modules in which speed matters less than size. Other packages can depend on
// this one only because these flags are not there by default.
if Context.environment["LADE_SMALL"] != nil {
    let cold = ["LadeCommand", "LadeCatalogue", "LadeCatalogueServer", "LadeHarvest", "LadePolicies", "LadeTesting"]
    for target in package.targets where cold.contains(target.name) {
        target.swiftSettings?.append(.unsafeFlags(["-Osize"]))
    }
}
