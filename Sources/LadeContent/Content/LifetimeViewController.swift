#if canImport(UIKit) && !os(watchOS)
    public import UIKit

    /// A view controller that reports its lifetime; subclass it and bind ``lifetimes`` to a content model.
    ///
    /// ```swift
    /// model.bind(lifetime: lifetimes)
    /// ```
    open class LifetimeViewController: UIViewController {
        private let broadcast = Broadcast<ViewLifetime>()

        /// The changes of the lifetime from now on; the sequence ends when the controller is released.
        public var lifetimes: AsyncStream<ViewLifetime> { broadcast.subscribe() }

        deinit {
            broadcast.finish()
        }

        open override func viewDidLoad() {
            super.viewDidLoad()
            broadcast.send(.didLoad)
        }

        open override func viewWillAppear(_ animated: Bool) {
            super.viewWillAppear(animated)
            broadcast.send(.willAppear)
        }

        open override func viewDidAppear(_ animated: Bool) {
            super.viewDidAppear(animated)
            broadcast.send(.didAppear)
        }

        open override func viewWillDisappear(_ animated: Bool) {
            super.viewWillDisappear(animated)
            broadcast.send(.willDisappear)
        }

        open override func viewDidDisappear(_ animated: Bool) {
            super.viewDidDisappear(animated)
            broadcast.send(.didDisappear)
        }
    }
#endif
