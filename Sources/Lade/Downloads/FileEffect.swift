/// The effect of a response on the file that a call names.
///
/// The only place that decides it: downloads, the files of `lade` and the entity tags that it saves ask here. A file that
/// exists is changed only by a response that represents the resource. ``BodyMeaning`` says before this decision whether a
/// response is the rest of a file.
///
/// | response | no file | a file |
/// | --- | --- | --- |
/// | 304 to a condition of the request, if 304 is acceptable | ``unchanged`` | ``unchanged`` |
/// | another 304, a range that does not exist, a part or page that was not requested | ``refused`` | ``refused`` |
/// | a body that a condition of the caller leaves out | ``unchanged`` | ``unchanged`` |
/// | an acceptable status | ``written`` | ``written`` if it may be replaced, otherwise ``taken`` |
/// | the same, where the rest of the file was requested | ``written`` | ``written`` if it may be replaced or is empty, otherwise ``notContinued`` |
/// | one of the other statuses of the plan | ``written`` | ``refused``, unless these replace files too |
/// | another status | ``refused`` | ``refused`` |
package enum FileEffect: Sendable, Hashable {
    /// The body becomes the file.
    case written
    /// A condition of the request holds, so the file stays as it is, or is not made.
    case unchanged
    /// The response is no body for the file.
    case refused
    /// The file exists, and must not be replaced.
    case taken
    /// The file was to be continued, and the response is not its rest.
    case notContinued

    /// The file before the response.
    package enum Existing: Sendable, Hashable, CaseIterable {
        case none
        case empty
        case filled
    }

    /// The changes that the caller allows.
    package struct Plan: Sendable, Hashable {
        /// The statuses whose bodies represent the resource.
        package var acceptable: Response.StatusSet = [200, 206]
        /// Further statuses whose bodies become new files.
        package var others = Response.StatusSet.none
        /// Whether those replace existing files too.
        package var othersReplace = false
        /// Whether an existing file is replaced.
        package var replaces = false
        /// Whether the bytes of an existing file are continued.
        package var continues = false
        /// Whether the caller leaves out the body, because of a condition that it compares itself.
        package var withholds = false

        /// Makes the plan of a new file.
        package init() {}
    }

    /// The effect of a response; a pure function of its head.
    package init(of response: Response, _ meaning: BodyMeaning, on file: Existing, _ plan: Plan) {
        self = Self.effect(response, meaning, file, plan)
    }

    private static func effect(
        _ response: Response,
        _ meaning: BodyMeaning,
        _ file: Existing,
        _ plan: Plan
    ) -> FileEffect {
        if response.status == 304 {
            return response.confirmsCondition && plan.acceptable.contains(304) ? .unchanged : .refused
        }
        switch meaning {
        case .whole, .requested: break
        case .misfit, .otherUnit, .refused, .rest, .complete: return .refused
        }
        if plan.withholds { return .unchanged }
        if plan.acceptable.contains(response.status) {
            if file == .none || plan.replaces { return .written }
            guard plan.continues else { return .taken }
            return file == .empty ? .written : .notContinued
        }
        guard plan.others.contains(response.status) else { return .refused }
        if file == .none { return .written }
        // A page about a failure is no rest of a file, and takes the place of none by default.
        return plan.replaces && plan.othersReplace && !plan.continues ? .written : .refused
    }
}

extension Response {
    /// Whether the response is a 304 to a request with a condition, so that the caller's copy is current.
    package var confirmsCondition: Bool {
        status == 304
            && (request.headers.contains("If-None-Match") || request.headers.contains("If-Modified-Since"))
    }
}
