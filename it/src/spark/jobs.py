"""The jobs that `gerbil mr` is compared with, by one warm Spark application.

Says `ready`, then runs each line of stdin, `JOB INPUT OUTPUT [PATTERN]`, and says `done` or `failed` with a reason.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def wordcount(spark, source, out, _):
    words = spark.read.text(source).select(F.explode(F.split("value", r"\s+")).alias("word"))
    words.where("word != ''").groupBy("word").count().write.csv(out, sep="\t")


def grep(spark, source, out, pattern):
    found = F.regexp_extract_all("value", F.lit(pattern), F.lit(0))
    matches = spark.read.text(source).select(F.explode(found).alias("match"))
    matches.groupBy("match").count().orderBy(F.desc("count")).write.csv(out, sep="\t")


def sort(spark, source, out, _):
    spark.read.text(source).orderBy("value").write.text(out)


JOBS = {"wordcount": wordcount, "grep": grep, "sort": sort}


def main():
    spark = SparkSession.builder.appName("beside gerbil mr").getOrCreate()
    print("ready", flush=True)
    for line in sys.stdin:
        job, source, out, pattern = (line.rstrip("\n").split(" ", 3) + [""])[:4]
        try:
            JOBS[job](spark, source, out, pattern)
            print("done", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            print("failed", " ".join(str(error).split())[:1000], flush=True)
    spark.stop()


main()
