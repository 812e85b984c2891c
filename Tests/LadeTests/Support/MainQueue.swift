import Dispatch

private let mainQueueKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
}()

/// Whether the code runs on the main queue, which need not stay on the process's first thread.
func isOnMainQueue() -> Bool {
    DispatchQueue.getSpecific(key: mainQueueKey) ?? false
}
