// swift-tools-version: 6.2
import PackageDescription

// The floors of Documentation/Architecture.md, bottom up: a target imports only targets of lower floors.
let package = Package(
    name: "lade",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Lade", targets: ["Lade"]),
        .library(name: "LadeCore", targets: ["LadeCore"]),
        .library(name: "LadeCurl", targets: ["LadeCurl"]),
        .library(name: "LadeURLSession", targets: ["LadeURLSession"]),
        .library(name: "LadeTesting", targets: ["LadeTesting"]),
        .executable(name: "lade", targets: ["LadeCommand"]),
    ],
    targets: [
        // Floor 0: system libraries.
        .systemLibrary(
            name: "CCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]
        ),
        // Floor 1.
        .target(name: "LadeCore"),
        // Floor 2: transports; siblings never import each other.
        .target(name: "LadeCurl", dependencies: ["CCurl", "LadeCore"]),
        .target(name: "LadeURLSession", dependencies: ["LadeCore"]),
        // Floor 3.
        .target(
            name: "Lade",
            dependencies: [
                "LadeCore",
                .target(name: "LadeCurl", condition: .when(platforms: [.linux])),
                // On Linux it would bring the whole of Foundation into every program: 57 MB linked statically.
                .target(
                    name: "LadeURLSession",
                    condition: .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS])
                ),
            ]
        ),
        // A product of its own: virtual time, scripted transport, loopback server, conformance suites.
        .target(name: "LadeTesting", dependencies: ["LadeCore"]),
        // Top.
        .executableTarget(name: "LadeCommand", dependencies: ["Lade", "LadeCurl", "LadeTesting"]),
        .testTarget(name: "LadeCoreTests", dependencies: ["LadeCore", "LadeTesting"]),
        .target(name: "CHangingResolver", path: "Tests/CHangingResolver"),
        .testTarget(name: "LadeCurlTests", dependencies: ["CCurl", "CHangingResolver", "LadeCurl", "LadeTesting"]),
        .testTarget(name: "LadeURLSessionTests", dependencies: ["CHangingResolver", "LadeURLSession", "LadeTesting"]),
        .testTarget(name: "LadeTestingTests", dependencies: ["LadeTesting"]),
        .testTarget(name: "LadeTests", dependencies: ["Lade", "LadeTesting"]),
        .testTarget(name: "LadeCommandTests", dependencies: ["LadeCommand", "LadeTesting"]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
    ]
}
