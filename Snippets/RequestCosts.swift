// Sends a query that takes five starts of the rate, and corrects the cost when the service counts another number of points.
import Lade

var settings = Service.Settings()
settings.rateLimiter = try RateLimiter(RateLimits(default: .perSecond(50, burst: 100)))
let service = try Service(settings)
let loader = service.anonymous.makeLoader()
let points = 7
var request = try Request("https://api.example.com/graphql")
request[RateCost.self] = 5
let response = try await loader.load(request)
try service.rateLimiter.adjustCost(of: response.request, to: points)
