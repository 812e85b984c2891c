// The fifth of five common tasks: a form with a field and a file.
import Foundation
import Lade

let image = URL(filePath: "cover.png")
// snippet.task
var form = MultipartForm()
form.addField("title", "Tagesschau")
try form.addFile("image", image)
let response = try await Loader().load(Endpoint(.post, "https://api.example.com/images").body(form.body))
// snippet.end
print(response.count, "bytes")
