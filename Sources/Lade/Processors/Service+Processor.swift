#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Service {
    /// One step from the bytes of a response to the requested value.
    ///
    /// Processors are chained by ``Endpoint/processing(with:)``: the first receives the bytes, each later one the value of
    /// the one before. A step that throws ends the chain: no later step runs, and the call fails with
    /// `LoadingError.Kind.decoding`.
    public protocol Processor<Input, Output>: Sendable {
        /// The type of value that it takes.
        associatedtype Input: Sendable
        /// The type of value that it returns.
        associatedtype Output: Sendable

        /// Returns the next value.
        ///
        /// Runs in the caller's task, for every status that counts as success. It also runs for other statuses, so that the
        /// error can contain the processed body.
        ///
        /// - Parameters:
        ///   - input: The bytes, or the value of the processor before.
        ///   - response: The response it belongs to: status, headers, request.
        /// - Returns: The next value.
        /// - Throws: Any error; a `LoadingError` reaches the caller unchanged.
        func process(_ input: Input, of response: Response) throws -> Output
    }
}

extension Service {
    /// Makes a processor from a closure; see ``Service/Processor/process(_:of:)``.
    public static func processor<Input: Sendable, Output: Sendable>(
        _ body: @escaping @Sendable (Input, Response) throws -> Output
    ) -> some Service.Processor<Input, Output> {
        ClosureProcessor(body: body)
    }
}

/// A processor that runs a closure.
private struct ClosureProcessor<Input: Sendable, Output: Sendable>: Service.Processor {
    let body: @Sendable (Input, Response) throws -> Output

    func process(_ input: Input, of response: Response) throws -> Output {
        try body(input, response)
    }
}

/// The fault of a body that arrived whole.
@nonexhaustive
public enum ProcessingError: Error, Sendable, Hashable {
    /// The body is empty.
    case emptyBody
    /// A processor received a value of another type than it takes.
    case wrongInput(expected: String, found: String)
    /// A list of processors gave a value of another type than its caller expects.
    case wrongOutput(expected: String, found: String)
    /// The JSON value is of another kind, for example an array where an object is required.
    case wrongKind(expected: String, found: String)
    /// The bytes are not valid text in their character set.
    case notText(characterSet: String)
    /// The character set is not known, or this system has no tables for it.
    case unknownCharacterSet(String)
    /// The decoder does not recognise the bytes as an image.
    case notAnImage
    /// The JSON has no list where one is expected.
    case missingList(MissingList)
    /// The response has another media type, or none; the one that was found is as the server sent it.
    case mediaType(expected: String, found: String?)
    /// A downloaded file has another SHA-256 than its server announced in a field.
    case digest(field: String, expected: Data, actual: Data)
}

extension ProcessingError: CustomStringConvertible {
    /// One plain clause.
    public var description: String {
        switch self {
        case .emptyBody: "the body is empty"
        case .wrongInput(let expected, let found): "a processor takes \(expected) and was given \(found)"
        case .wrongOutput(let expected, let found): "the last processor gave \(found), not \(expected)"
        case .wrongKind(let expected, let found): "the JSON is \(found), not \(expected)"
        case .notText(let characterSet): "the body is no text in \(characterSet.escapedForDisplay(limit: 64))"
        case .unknownCharacterSet(let name): "the charset “\(name.escapedForDisplay(limit: 64))” is not known here"
        case .notAnImage: "the body is no image that can be decoded"
        case .missingList(let list): list.description
        case .mediaType(let expected, let type?):
            "its media type is “\(type.escapedForDisplay(limit: 80))”, not \(expected)"
        case .mediaType(let expected, nil): "it has no media type, and should have \(expected)"
        case .digest(let field, let expected, let actual):
            "its SHA-256 is \(actual.hexadecimalDigits), but \(field) says \(expected.hexadecimalDigits)"
        }
    }
}

/// A list of processors of any types, in order.
///
/// Their types are checked when they run.
///
/// Use it for lists that are composed at run time; ``Endpoint/processing(with:)`` checks the types at compile time.
package struct ProcessorChain: Service.Processor {
    private let steps: [@Sendable (any Sendable, Response) throws -> any Sendable]

    /// Makes a chain.
    package init(_ processors: [any Service.Processor]) {
        steps = processors.map { Self.erase($0) }
    }

    /// Runs the processors over the bytes, in order.
    ///
    /// - Throws: The error of a processor; ``ProcessingError/wrongInput(expected:found:)`` with both types when one
    ///   receives a value of the wrong type.
    package func process(_ input: Data, of response: Response) throws -> any Sendable {
        try value(of: input, response)
    }

    /// Runs the processors over a value of any type, in order.
    func value(of input: any Sendable, _ response: Response) throws -> any Sendable {
        var value: any Sendable = input
        for step in steps { value = try step(value, response) }
        return value
    }

    private static func erase<Processor: Service.Processor>(
        _ processor: Processor
    ) -> @Sendable (any Sendable, Response) throws -> any Sendable {
        { value, response in
            guard let input = value as? Processor.Input else {
                throw ProcessingError.wrongInput(
                    expected: "\(Processor.Input.self)",
                    found: "\(type(of: value as Any))"
                )
            }
            return try processor.process(input, of: response)
        }
    }
}

extension ProcessingError: LocalizedError {
    /// The text for display, in one of the user's languages.
    public var localizedDescription: String { description.asSentence }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}
