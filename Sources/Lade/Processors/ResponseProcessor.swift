#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One step from the bytes of an answer to the value that was asked for.
///
/// Processors are chained by ``Endpoint/processing(with:)``: the first gets the bytes, each later one what the one before
/// made. A step that throws ends the chain: no later step runs, and the call fails with
/// `LoadingError.decoding(_:_:)`. Source: brief `bbc-httpclient.txt`, `client-decorators-processors.md` §7.
public protocol ResponseProcessor<Input, Output>: Sendable {
    /// What it takes.
    associatedtype Input: Sendable
    /// What it makes.
    associatedtype Output: Sendable

    /// Makes the next value.
    ///
    /// Runs in the caller's task, for every status that counts as success, and for the others so that their error can
    /// carry what was made of their body.
    ///
    /// - Parameters:
    ///   - input: The bytes, or what the processor before made.
    ///   - response: The answer it belongs to: status, headers, request.
    /// - Returns: The next value.
    /// - Throws: Anything; a `LoadingError` reaches the caller as it is.
    func process(_ input: Input, of response: Response) throws -> Output
}

/// A processor made of a closure.
public struct ClosureProcessor<Input: Sendable, Output: Sendable>: ResponseProcessor {
    private let body: @Sendable (Input, Response) throws -> Output

    /// Makes a processor of a closure.
    public init(_ body: @escaping @Sendable (Input, Response) throws -> Output) {
        self.body = body
    }

    /// Runs the closure.
    public func process(_ input: Input, of response: Response) throws -> Output {
        try body(input, response)
    }
}

/// What a processor can find wrong by itself.
@nonexhaustive
public enum ProcessingFault: Error, Sendable, Hashable {
    /// There is no body to make a value from.
    case emptyBody
    /// A step got a value of another type than the one it takes.
    case wrongInput(expected: String, found: String)
    /// The JSON value is of another kind, as an array where an object is wanted.
    case wrongKind(expected: String, found: String)
    /// The bytes are no text in their character set.
    case notText(characterSet: String)
    /// The bytes are no image that the decoder knows.
    case notAnImage
}

extension ProcessingFault: CustomStringConvertible {
    /// One plain clause.
    public var description: String {
        switch self {
        case .emptyBody: "the body is empty"
        case .wrongInput(let expected, let found): "a processor takes \(expected) and was given \(found)"
        case .wrongKind(let expected, let found): "the JSON is \(found), not \(expected)"
        case .notText(let characterSet): "the body is no text in \(characterSet)"
        case .notAnImage: "the body is no image that can be decoded"
        }
    }
}

/// A list of processors of any types, in order; whether each gets what it takes is found out when they run.
///
/// For lists that are put together at run time; ``Endpoint/processing(with:)`` checks the types when it is compiled.
public struct ProcessorChain: ResponseProcessor {
    private let steps: [@Sendable (any Sendable, Response) throws -> any Sendable]

    /// Makes a chain.
    public init(_ processors: [any ResponseProcessor]) {
        steps = processors.map { Self.erase($0) }
    }

    /// Runs the processors over the bytes, in order.
    ///
    /// - Throws: What a processor throws; ``ProcessingFault/wrongInput(expected:found:)`` naming both types when one does
    ///   not get what it takes.
    public func process(_ input: Data, of response: Response) throws -> any Sendable {
        var value: any Sendable = input
        for step in steps { value = try step(value, response) }
        return value
    }

    private static func erase<Processor: ResponseProcessor>(
        _ processor: Processor
    ) -> @Sendable (any Sendable, Response) throws -> any Sendable {
        { value, response in
            guard let input = value as? Processor.Input else {
                throw ProcessingFault.wrongInput(
                    expected: "\(Processor.Input.self)",
                    found: "\(type(of: value as Any))"
                )
            }
            return try processor.process(input, of: response)
        }
    }
}
