"""Tables of the history: partitioned by time, so outside of what Django's models can say."""

from django.db import migrations

DEVICE = ("memory_used_mib", "utilization_pct", "temperature_c", "power_mw", "booked_mib", "booked_milli")
NODE = ("cpu_used_milli", "memory_used_mib", "load1_milli", "power_mw")
SUBJECTS = (
    ("inventory_devicehistory", "device_id", DEVICE, ("raw", "minute", "hour")),
    ("inventory_nodehistory", "node_id", NODE, ("raw", "minute", "hour")),
    ("inventory_grouphistory", "group_id", DEVICE, ("minute", "hour")),
)
# How many readings, their sum, minimum and maximum, and the histogram: bin << 32 | hits, null where all were equal.
ROLLED = ("{0}_n integer NOT NULL", "{0}_sum bigint", "{0}_min integer", "{0}_max integer", "{0}_hist bigint[]")


def _columns(metrics, grain):
    if grain == "raw":
        return [f"{metric} integer" for metric in metrics]
    return [part.format(metric) for metric in metrics for part in ROLLED]


def _tables():
    for prefix, key, metrics, grains in SUBJECTS:
        for grain in grains:
            columns = [f"{key} bigint NOT NULL", "at timestamptz NOT NULL", *_columns(metrics, grain)]
            yield (
                f"{prefix}_{grain}",
                f"CREATE TABLE {prefix}_{grain} ({', '.join(columns)}, PRIMARY KEY ({key}, at)) PARTITION BY RANGE (at)",
            )


class Migration(migrations.Migration):
    dependencies = [("inventory", "0004_fatal_and_flapping")]

    operations = [
        *(migrations.RunSQL(make, f"DROP TABLE {name}") for name, make in _tables()),
        migrations.RunSQL(
            "CREATE TABLE inventory_historydue (grain varchar(6) NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (grain, at))",
            "DROP TABLE inventory_historydue",
        ),
        migrations.RunSQL(
            "CREATE TABLE inventory_devicegroup (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, node_set_id bigint, "
            "model varchar(200), UNIQUE NULLS NOT DISTINCT (node_set_id, model))",
            "DROP TABLE inventory_devicegroup",
        ),
    ]
