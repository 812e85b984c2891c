// swift-tools-version: 6.3
import PackageDescription

// Built only by `Fuzzing/run`, which passes the flags of libFuzzer; see README.md.
let package = Package(
    name: "fuzzing",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "lade", path: "..")],
    targets: [
        // The one function of libFuzzer that is called by name.
        .target(name: "CFuzzer"),
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "CFuzzer", .product(name: "Lade", package: "lade"), .product(name: "LadeCore", package: "lade"),
                .product(name: "LadeCurl", package: "lade"), .product(name: "LadeFields", package: "lade"),
                .product(name: "LadeJSON", package: "lade"),
                .product(name: "LadeImages", package: "lade"), .product(name: "LadePolicies", package: "lade"),
                .product(name: "LadeRedis", package: "lade"), .product(name: "LadeWire", package: "lade"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
