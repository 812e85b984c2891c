import Foundation
import LadeTesting
import Testing

@testable import Lade
@testable import LadeCommand

/// The rows of the article *Which paging rule* against real software; see CONTRIBUTING.md.
@Suite("Paging rules and real servers", .timeLimit(.minutes(5)))
struct PagingPeersTests {
    /// The address of a peer; without it the test is skipped, which is a failure in CI.
    private static func origin(_ name: String) throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let facts = environment["LADE_PEERS"].flatMap { FileManager.default.contents(atPath: $0) }
            .flatMap { try? JSONValue(parsing: $0) }
        guard let port = facts?[name]?.integer else {
            if environment["CI"] == "true" { Issue.record("LADE_PEERS has no \(name)") }
            try Test.cancel("LADE_PEERS has no \(name)")
        }
        return "http://127.0.0.1:\(port)"
    }

    private static let article = try? String(
        contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources/LadeHarvest/LadeHarvest.docc/WhichPagingRule.md"),
        encoding: .utf8
    )

    @Test(
        "each list of real software comes whole with the line of the article: finding RF-1 finding RF-11",
        arguments: [
            ("/drf/numbers", "--items /results"), ("/drf/offsets", "--items /results"),
            ("/drf/cursors", "--items /results"), ("/jsonapi/items", "--items /data"),
            ("/fastapi/links", "--items /items"),
            ("/fastapi/numbers", "--items /items --next page:page --total /total"),
            ("/lade/items.json", "--items /rows"),
        ] as [(String, String)]
    )
    func whole(path: String, options: String) async throws {
        let arguments = options.split(separator: " ").map(String.init)

        let outcome = try await LadeProcess(["pages", try Self.origin("apis") + path] + arguments).outcome()

        #expect(Self.article?.contains("`lade pages URL \(options)`") == true)
        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(outcome.talk == "", "\(outcome.talk)")
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.count == 37)
        #expect(Set(lines).count == 37)
    }

    @Test("finding RF-1 a list of real software that no rule finds is cut")
    func cut() async throws {
        let outcome = try await LadeProcess.run(
            "pages",
            try Self.origin("apis") + "/fastapi/numbers",
            "--items",
            "/items"
        )

        #expect(outcome.status == 15)
        #expect(outcome.output.split(separator: "\n").count == 10)
    }

    @Test("finding RF-3 a connection of strawberry is read by cursor in the variables")
    func graphQL() async throws {
        let query =
            "query($after: String) { items(after: $after) { nodes { id title } pageInfo { endCursor hasNextPage } } }"
        let arguments = [
            "pages", try Self.origin("apis") + "/graphql", "query=\(query)", #"variables:={"after":null}"#, "--items",
            "/data/items/nodes",
        ]

        let whole = try await LadeProcess(
            arguments + [
                "--next", "cursor:/data/items/pageInfo/endCursor=body:/variables/after", "--more",
                "/data/items/pageInfo/hasNextPage",
            ]
        ).outcome()
        let cut = try await LadeProcess(arguments).outcome()

        #expect(whole.status == 0, "\(whole.talk)")
        #expect(whole.talk == "", "\(whole.talk)")
        #expect(Set(whole.output.split(separator: "\n")).count == 37)
        #expect(cut.status == 15)
        #expect(cut.talk.contains("/data/items/pageInfo/hasNextPage is true"))
    }

    @Test("finding RF-3 a table of moto's DynamoDB is read by a key that is an object")
    func dynamoDB() async throws {
        let origin = try Self.origin("dynamo")
        let table = "lade-\(UUID().uuidString)"
        let fields = [
            "Content-Type:application/x-amz-json-1.0",
            "Authorization:AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, "
                + "SignedHeaders=host, Signature=0",
        ]
        func call(_ operation: String, _ body: String) async throws -> Int32 {
            try await LadeProcess(
                ["get", origin, "X-Amz-Target:DynamoDB_20120810.\(operation)", "-d", body] + fields
            ).outcome().status
        }
        let key = #""KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]"#
        let attribute = #""AttributeDefinitions":[{"AttributeName":"id","AttributeType":"N"}]"#
        let made = try await call(
            "CreateTable",
            #"{"TableName":"\#(table)",\#(key),\#(attribute),"BillingMode":"PAY_PER_REQUEST"}"#
        )
        for numbers in [1...20, 21...37] {
            let puts = numbers.map { #"{"PutRequest":{"Item":{"id":{"N":"\#($0)"}}}}"# }.joined(separator: ",")
            #expect(try await call("BatchWriteItem", #"{"RequestItems":{"\#(table)":[\#(puts)]}}"#) == 0)
        }

        let outcome = try await LadeProcess(
            [
                "pages", origin, "X-Amz-Target:DynamoDB_20120810.Scan", "TableName=\(table)", "Limit:=10", "--items",
                "/Items",
                "--next", "cursor:/LastEvaluatedKey=body:/ExclusiveStartKey",
            ] + fields
        ).outcome()

        #expect(made == 0)
        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(Set(outcome.output.split(separator: "\n")).count == 37)
    }
}
