#include "understudy/transport/metrics/process_metrics.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace understudy::internal {
namespace {

// The fields of /proc/self/stat from the third on; proc(5) numbers them from 1. Empty if the file cannot be read.
std::vector<std::string> StatFields() {
  std::stringstream text;
  text << std::ifstream("/proc/self/stat").rdbuf();
  const std::string line = text.str();
  // The second field is the name of the program in parentheses, which may hold spaces and parentheses.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  return absl::StrSplit(line.substr(name_end + 1), ' ', absl::SkipEmpty());
}

int64_t Field(const std::vector<std::string>& fields, size_t number) {
  int64_t value = 0;
  if (number - 3 < fields.size()) (void)absl::SimpleAtoi(fields[number - 3], &value);
  return value;
}

// When the machine was started, in seconds since 1970.
int64_t BootTime() {
  std::ifstream stat("/proc/stat");
  std::string line;
  int64_t seconds = 0;
  while (std::getline(stat, line)) {
    if (absl::StartsWith(line, "btime ")) (void)absl::SimpleAtoi(line.substr(6), &seconds);
  }
  return seconds;
}

void WriteProcess(Exposition& out) {
  const std::vector<std::string> fields = StatFields();
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  out.Begin("process_cpu_seconds_total", MetricType::kCounter, "User and system CPU time of the process.");
  out.Sample(static_cast<double>(Field(fields, 14) + Field(fields, 15)) / ticks_per_second);
  out.Begin("process_start_time_seconds", MetricType::kGauge, "Start of the process, in seconds since 1970.");
  out.Sample(static_cast<double>(BootTime()) + static_cast<double>(Field(fields, 22)) / ticks_per_second);
  out.Begin("process_virtual_memory_bytes", MetricType::kGauge, "Virtual memory of the process.");
  out.Sample(Field(fields, 23));
  out.Begin("process_resident_memory_bytes", MetricType::kGauge, "Resident memory of the process.");
  out.Sample(Field(fields, 24) * sysconf(_SC_PAGESIZE));
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  out.Begin("process_open_fds", MetricType::kGauge, "Open file descriptors.");
  // The directory iterator has a descriptor of its own, which is not counted.
  out.Sample(error ? 0 : std::max<int64_t>(0, std::distance(descriptors, {}) - 1));
  rlimit limit{};
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  out.Begin("process_max_fds", MetricType::kGauge, "Bound of the number of open file descriptors.");
  out.Sample(limit.rlim_cur);
  out.Begin("process_threads", MetricType::kGauge, "Threads of the process.");
  out.Sample(Field(fields, 20));
}

absl::string_view Compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "";
#endif
}

}  // namespace

ProcessMetrics::ProcessMetrics(std::string version, std::vector<std::string> certificate_files)
    : version_(std::move(version)), certificate_files_([&certificate_files] {
        std::sort(certificate_files.begin(), certificate_files.end());
        certificate_files.erase(std::unique(certificate_files.begin(), certificate_files.end()),
                                certificate_files.end());
        return std::move(certificate_files);
      }()) {}

void ProcessMetrics::Write(Exposition& out) const {
  WriteProcess(out);
  out.Begin("understudy_build_info", MetricType::kGauge, "1; the labels tell how the program was built.");
  out.Sample(1, {{"compiler", Compiler()}, {"version", version_}});
  if (certificate_files_.empty()) return;
  out.Begin("understudy_certificate_expiry_timestamp_seconds", MetricType::kGauge,
            "When the certificate in the file expires, in seconds since 1970; 0 if the file has none.");
  for (const std::string& file : certificate_files_) {
    out.Sample(CertificateExpiry(file).value_or(0), {{"file", file}});
  }
}

absl::optional<int64_t> CertificateExpiry(const std::string& path) {
  constexpr int64_t kSecondsPerDay = 24 * 60 * 60;
  const std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })> file(BIO_new_file(path.c_str(), "r"));
  const std::unique_ptr<X509, decltype([](X509* certificate) { X509_free(certificate); })> certificate(
      file == nullptr ? nullptr : PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<ASN1_TIME, decltype([](ASN1_TIME* time) { ASN1_TIME_free(time); })> epoch(
      ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  const bool is_read = certificate != nullptr && epoch != nullptr &&
                       ASN1_TIME_diff(&days, &seconds, epoch.get(), X509_get0_notAfter(certificate.get())) == 1;
  ERR_clear_error();  // so that no later user of this thread's error queue finds the errors of the calls above
  if (!is_read) return absl::nullopt;
  return days * kSecondsPerDay + seconds;
}

}  // namespace understudy::internal
