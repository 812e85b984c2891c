// What Linux's C library has, or has with another type.
import Dispatch
import Foundation

func variables() -> Int {
    environ.hashValue  // error: cannot find 'environ' in scope
}

func thread() -> pthread_t {
    var thread = pthread_t()  // error: missing argument
    return thread
}

func family() -> sa_family_t {
    sa_family_t(SOCK_STREAM.rawValue)  // error: has no member 'rawValue'
}

func epoll() -> Int32 {
    epoll_create1(0)  // error: cannot find 'epoll_create1' in scope
}

func address() -> sockaddr_in {
    let zero: (Int8, Int8, Int8, Int8, Int8, Int8, Int8, Int8) = (0, 0, 0, 0, 0, 0, 0, 0)
    return sockaddr_in(sin_family: 2, sin_port: 0, sin_addr: in_addr(), sin_zero: zero)  // error: missing argument
}

func process() -> Int32 {
    fork()  // error: 'fork()' is unavailable
}

func blocks(_ semaphore: DispatchSemaphore) async {
    semaphore.wait()  // error: is unavailable from asynchronous contexts
}
