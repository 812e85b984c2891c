import Foundation
import LadeTesting
import Testing

@testable import LadeCallbacks

/// The actions of a queue or a completion, for comparing their order.
enum Step: Equatable {
    case started
    case finished(NetworkError.Code?, count: Int)
    case completed(String, hasValue: Bool)
}

/// The common parts of the queue tests.
@MainActor
protocol QueueSuite {
    var rig: HandleRig { get }
    var steps: Deliveries<Step> { get }
}

extension QueueSuite {
    /// A queue that records its changes and checks their thread and state.
    func makeQueue(_ options: RequestQueue.Options = []) -> RequestQueue {
        let holder = WeakQueue()
        let queue = RequestQueue(options: options) { [steps] change in
            #expect(MainDelivery.isOnMain)
            switch change {
            case .started:
                #expect(holder.queue?.isRunning == true)
                steps.add(.started)
            case .finished(let error):
                #expect(holder.queue?.isRunning == false)
                let network = error as? NetworkError
                steps.add(.finished(network?.code, count: error == nil ? 0 : max(1, network?.errors.count ?? 1)))
            }
        }
        holder.queue = queue
        return queue
    }

    /// A request that records its completion and reports its error.
    func request(
        _ path: String,
        in queue: RequestQueue? = nil,
        options: RequestOptions = [],
        trace: Trace? = nil
    ) throws -> RequestHandle<Data> {
        RequestHandle(rig.loader, try rig.endpoint(path), options: options, activity: rig.activity) { [steps] outcome in
            withExtendedLifetime(trace) {}
            steps.add(.completed(path, hasValue: outcome.value != nil))
            queue?.report(outcome.error)
        }
    }

    /// Waits until a queue has ended and has reported it.
    func end(of queue: RequestQueue) async throws {
        let changes = Deliveries<Bool>()
        let observation = queue.observeRunning { changes.add($0) }
        if observation.wasRunning { _ = try await changes.wait(for: 1) }
        observation.cancel()
        // Reports from other threads reach the main actor in order.
        let isReported = Signal()
        MainDelivery.post { isReported.raise() }
        try await isReported.wait()
    }
}

@MainActor
private final class WeakQueue {
    weak var queue: RequestQueue?
}
