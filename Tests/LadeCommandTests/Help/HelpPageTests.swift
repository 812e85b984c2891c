import Foundation
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct HelpPageTests {
    private let pages = HelpPage(table: .standard)

    @Test("command CM-08 fits the help of each command on a screen and shows three examples")
    func fits() throws {
        for command in CommandTable.standard.commands {
            let lines = pages.page(of: command).split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 46, "\(command.name)")
            #expect(lines.allSatisfy { $0.count <= HelpPage.width }, "\(command.name)")
            #expect(command.examples.count == 3, "\(command.name)")
            for example in command.examples { #expect(lines.contains { $0.contains(example.line) }) }
        }
        #expect(pages.overview.split(separator: "\n", omittingEmptySubsequences: false).count <= 25)
    }

    @Test("command CM-08 gives the common options a line, counts the others, and gives each a line when asked for all")
    func complete() throws {
        for command in CommandTable.standard.commands {
            let page = pages.page(of: command)
            let complete = pages.page(of: command, isComplete: true)
            let others = command.options.filter { !$0.isCommon && $0.name != "help" }
            #expect(others.isEmpty != page.contains("lists \(others.count) more options"), "\(command.name)")
            for option in command.options {
                #expect(!option.isCommon || page.contains("--\(option.name)"), "\(option.name)")
                #expect(complete.contains(option.summary), "\(option.name)")
            }
            #expect(complete.split(separator: "\n").allSatisfy { $0.count <= HelpPage.width }, "\(command.name)")
        }
    }

    @Test("lists no option twice in a table")
    func unique() {
        for command in CommandTable.standard.commands {
            let names = command.options.flatMap { [$0.name] + $0.aliases }
            let letters = command.options.compactMap(\.letter)
            #expect(Set(names).count == names.count, "\(command.name)")
            #expect(Set(letters).count == letters.count, "\(command.name)")
        }
    }

    @Test("command CM-08 explains every exit code")
    func exitCodes() {
        let page = pages.exitCodes
        for code in ExitCode.allCases { #expect(page.contains("\(code.rawValue)  \(code.meaning)\n")) }
    }

    @Test("command CM-08 keeps the help as it was agreed on (LADE_GOLDEN=write writes it anew)")
    func golden() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")
        var texts = CommandTable.standard.commands.map { ($0.name, pages.page(of: $0)) }
        texts += [("overview", pages.overview), ("exit-codes", pages.exitCodes)]
        for (name, text) in texts {
            let file = folder.appendingPathComponent(name + ".txt")
            if ProcessInfo.processInfo.environment["LADE_GOLDEN"] == "write" { try Data(text.utf8).write(to: file) }
            #expect(try String(decoding: Data(contentsOf: file), as: UTF8.self) == text, "\(name)")
        }
    }
}
